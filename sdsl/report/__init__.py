"""The report: tables, figures and verdicts on the paper's claims, made from finished runs."""
