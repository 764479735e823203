"""Compiles every loop once, so that no test waits for a compiler; `__pycache__` keeps the code.

PYTHONPATH=tests python tests/warm.py
"""

import support


def warm() -> None:
    """Every method on two streams, few features and many: the loops of few rows are others."""
    for method in support.METHODS:
        config = support.composed(f"method={method}", segment_size=30, test_size=10)
        for classes, d in ((3, 2), (2, 40)):
            data = support.blobs(rows=90, classes=classes, d=d)
            support.run_config(support.brief(config), data)


if __name__ == "__main__":
    warm()
