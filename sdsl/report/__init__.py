"""The report: tables, figures and verdicts from finished runs (python -m sdsl.report)."""
