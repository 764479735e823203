"""Labels for a stream that has none: the parts of StreamClassifier and of python -m sdsl.label."""
