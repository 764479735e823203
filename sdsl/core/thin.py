"""A thinned R: the diagonal, R[t, t+1], the first and the last row, and a grid of other cells.

Memory is linear in T where the grid's size is: a dense R of 10,000 segments takes 800 MB a seed.
A cell that was not evaluated is NaN. Row 0 is the model that saw gold only; columns count from 0.
"""

from collections.abc import Iterator

import numpy as np

CELL = np.dtype([("i", "<i4"), ("j", "<i4"), ("accuracy", "<f8")])  # i and j count from 1, as in R


class Thin:
    """[S, T + 1, T], as far as it is known."""

    def __init__(self, S: int, T: int, rows: np.ndarray, columns: np.ndarray):
        """rows, columns: of the grid, ascending."""
        self.rows, self.columns = rows, columns
        self.grid = np.full((S, len(rows), len(columns)), np.nan)
        self.diagonal = np.full((S, T), np.nan)  # R[t, t] at t - 1
        self.above = np.full((S, T), np.nan)  # R[t, t + 1] at t
        self.first = np.full((S, T), np.nan)
        self.last = np.full((S, T), np.nan)

    @property
    def shape(self) -> tuple[int, int, int]:
        S, T = self.diagonal.shape
        return S, T + 1, T

    def __len__(self) -> int:
        return len(self.diagonal)

    def __getitem__(self, s: int) -> "Thin":
        """One replica, as a thinned R of one."""
        if not 0 <= s < len(self):
            raise IndexError(s)
        one = Thin(0, 0, self.rows, self.columns)
        for name in ("grid", "diagonal", "above", "first", "last"):
            setattr(one, name, getattr(self, name)[s : s + 1])
        return one

    def __iter__(self) -> Iterator["Thin"]:
        return (self[s] for s in range(len(self)))

    def put(self, t: int, columns: np.ndarray, values: np.ndarray) -> None:
        for here, there in self._places(t, columns):
            there[...] = values[:, here]

    def _places(self, t: int, columns: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """(which of the columns, a view of where they lie) for every place that holds some."""
        T = self.shape[2]
        places = []
        for ends, row in ((0, self.first), (T, self.last)):
            if t == ends and np.array_equal(columns, np.arange(T)):
                places.append((np.arange(T), row))
        if 1 <= t <= T:
            places.append((np.flatnonzero(columns == t - 1), self.diagonal[:, t - 1 : t]))
        if t < T:
            places.append((np.flatnonzero(columns == t), self.above[:, t : t + 1]))
        k = int(np.searchsorted(self.rows, t))
        if k < len(self.rows) and self.rows[k] == t and np.isin(self.columns, columns).all():
            places.append((np.searchsorted(columns, self.columns), self.grid[:, k]))
        return [(here, there) for here, there in places if len(here)]

    def known(self, t: int) -> np.ndarray:
        """Row t with NaN where nothing is known: [S, T]."""
        S, _, T = self.shape
        row = np.full((S, T), np.nan)
        k = int(np.searchsorted(self.rows, t))
        if k < len(self.rows) and self.rows[k] == t:
            row[:, self.columns] = self.grid[:, k]
        for ends, whole in ((0, self.first), (T, self.last)):
            if t == ends:
                row = np.where(np.isnan(whole), row, whole)
        if t >= 1:
            row[:, t - 1] = self.diagonal[:, t - 1]
        if t < T:
            row[:, t] = self.above[:, t]
        return row

    def cells(self) -> np.ndarray:
        """The known cells of rows 1..T of the one replica, in order, as records i, j, accuracy."""
        parts = []
        for t in range(1, self.shape[1]):
            row = self.known(t)[0]
            j = np.flatnonzero(np.isfinite(row))
            part = np.zeros(len(j), CELL)
            part["i"], part["j"], part["accuracy"] = t, j + 1, row[j]
            parts.append(part)
        return np.concatenate(parts)


def of_replica(R: np.ndarray | Thin, s: int) -> np.ndarray:
    """Rows 1..T of one replica as they are written: [T, T], or records of cells if thinned."""
    return R[s].cells() if isinstance(R, Thin) else R[s, 1:]


def dense(written: np.ndarray) -> np.ndarray:
    """[T, T] with NaN where nothing is known, from what `of_replica` gave."""
    if written.dtype.names is None:
        return written
    R = np.full((int(written["i"].max()),) * 2, np.nan)
    R[written["i"] - 1, written["j"] - 1] = written["accuracy"]
    return R


def picture(written: np.ndarray) -> np.ndarray:
    """A matrix small enough to draw: of a thinned R, the rows and columns of its grid."""
    if written.dtype.names is None:
        return written
    i, often = np.unique(written["i"], return_counts=True)
    rows = i[often > 2] if (often > 2).any() else i  # others hold the diagonal and its neighbour
    inner = written[np.isin(written["i"], rows[:-1])] if len(rows) > 1 else written
    j, often = np.unique(inner["j"], return_counts=True)
    columns = j[often == often.max()]  # a column of the grid is in all of them
    shown = written[np.isin(written["i"], rows) & np.isin(written["j"], columns)]
    small = np.full((len(rows), len(columns)), np.nan)
    at = np.searchsorted(rows, shown["i"]), np.searchsorted(columns, shown["j"])
    small[at] = shown["accuracy"]
    return small
