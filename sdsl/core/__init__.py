"""The heart: a stream, a learner and the loop that fills R. NumPy, SciPy, torch, numba."""
