"""What a dataset is before it becomes a stream: rows in time order, and where they came from."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Table:
    """X [N, d] float32 and y [N] int64 in 0..C-1, in stream order, with their provenance."""

    name: str
    X: np.ndarray
    y: np.ndarray
    classes: tuple[str, ...]  # the label each integer stands for
    source: str  # where the rows came from, in words
    standing: str  # original | reconstruction | regenerated | stand-in | own | unknown
    sha256: str  # of the source's uncompressed bytes
