"""What a dataset is before it becomes a stream: rows in time order, and where they came from."""

import hashlib
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
    features: tuple[str, ...] = ()  # names of X's columns, where they have names
    notes: tuple[str, ...] = ()  # what was done with the columns of a file, a line each

    def digest(self) -> str:
        """SHA-256 of the rows as a stream uses them: tells a changed file and a changed order."""
        h = hashlib.sha256(np.ascontiguousarray(self.X).data)
        h.update(np.ascontiguousarray(self.y).data)
        return h.hexdigest()
