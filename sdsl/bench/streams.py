"""What the parts run on: a made-up drifting stream of any size, and a setup for it."""

import numpy as np

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.config.schema import Setup
from sdsl.core.table import Table


def drifting(T: int, rows: int = 1000, d: int = 2, classes: int = 2) -> Table:
    """Gaussian classes on a circle that turns once; gold and T segments of `rows` rows."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(classes), (T + 1) * rows // classes + 1)[: (T + 1) * rows]
    angle = 2 * np.pi * (y / classes + np.linspace(0, 1, len(y)))
    X = rng.normal(0, 1, (len(y), d)).astype(np.float32)
    X[:, :2] += 3 * np.c_[np.cos(angle), np.sin(angle)]
    names = tuple(str(c) for c in range(classes))
    return Table("drifting", X, y, names, "made by sdsl.bench", "own", "0" * 64)


def setup_for(*overrides: str, rows: int = 1000) -> Setup:
    """A method's setup on that stream; three rows of ten test."""
    sizes = f"dataset.segment_size={rows}", f"dataset.test_size={rows * 3 // 10}"
    names = "dataset=own/table", "dataset.name=drifting"
    return experiment.setup(composed(*names, *sizes, *overrides))
