"""From finished runs to what a reader of the paper wants to see: python -m sdsl.report."""
