"""python -m sdsl.bench: how fast this code is, as ratios measured side by side; one part a file."""
