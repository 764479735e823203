"""Numbers in Markdown texts, written from an exported folder (python -m sdsl.report.texts)."""
