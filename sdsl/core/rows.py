"""Rows with labels: those of a data set (Table) and those that a method is given (Rows)."""

import hashlib
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


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
    ends: tuple[int, ...] | None = None  # the row after each segment; None: all are equally long

    def digest(self) -> str:
        """SHA-256 of the rows as a stream uses them: tells a changed file and a changed order."""
        h = hashlib.sha256(np.ascontiguousarray(self.X).data)
        h.update(np.ascontiguousarray(self.y).data)
        if self.ends:
            h.update(repr(self.ends).encode())
        return h.hexdigest()


@dataclass(frozen=True, eq=False)
class Rows:
    """Labelled rows."""

    X: Tensor  # [n, d]
    y: Tensor  # [n] int64

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, which: Tensor | slice) -> "Rows":
        """The rows of an index or a mask, in its order."""
        return Rows(self.X[which], self.y[which])

    @classmethod
    def empty(cls, d: int) -> "Rows":
        return cls(torch.zeros(0, d), torch.zeros(0, dtype=torch.long))

    @classmethod
    def unlabelled(cls, X: Tensor) -> "Rows":
        """Rows whose labels are never read."""
        return cls(X, torch.zeros(len(X), dtype=torch.long))

    @classmethod
    def cat(cls, *parts: "Rows") -> "Rows":
        return cls(torch.cat([rows.X for rows in parts]), torch.cat([rows.y for rows in parts]))


def misfit(rows: Rows, d: int, classes: int) -> str:
    """The fault of rows of d features; '' of sound ones."""
    X, y = rows.X, rows.y
    sound = X.dtype == torch.float32 and y.dtype == torch.int64 and y.ndim == 1
    if not sound or X.shape != (len(y), d):
        return f"rows {X.dtype} {[*X.shape]} with labels {y.dtype} {[*y.shape]}, of {d} features"
    found = label_range(y, classes)
    return f"labels {found} of {classes} classes" if found else ""


def label_range(y: Tensor, classes: int) -> str:
    """'-1 to 7' of labels that are not all in 0..C-1; '' of those that are."""
    # As unsigned numbers negative ones are large, so that one look is enough.
    if not len(y) or y.numpy().view(np.uint64).max() < classes:
        return ""
    return f"{int(y.min())} to {int(y.max())}"


def rank_in_class(key: Tensor, y: Tensor, classes: int) -> Tensor:
    """How many rows of its own class y have a smaller key: [n]; ties count in their order.

    Sorting by these ranks takes the same share of every class.
    """
    order = key.argsort(stable=True)
    sorted_y = y[order]
    rank = F.one_hot(sorted_y, classes).cumsum(0).gather(1, sorted_y[:, None]).squeeze(1) - 1
    return torch.empty_like(rank).scatter_(0, order, rank)
