"""The heart: a stream, a learner and the loop that fills R. NumPy, SciPy and torch only."""
