"""How much one data file may hold once unpacked: checked while reading, before memory runs out."""

from pathlib import Path

import numpy as np

from sdsl.errors import UserError

MOST_BYTES = 2**30  # of a file's uncompressed bytes, and of its features as float32
MOST_COLUMNS = 10_000  # of a table whose columns are looked at one by one
CHUNK = 2**20  # bytes read between two looks at the limit


def too_large(path: Path) -> UserError:
    """The refusal of a file that is over the limit, whatever its format."""
    return UserError(
        f"{path}: holds more than {MOST_BYTES / 2**20:,.0f} MB of data once unpacked, which is the "
        "most that is read. Use a shorter file or fewer columns."
    )


def refuse_wide(path: Path, columns: int) -> None:
    """Refuses a table with too many columns of any kind, before it is parsed."""
    if columns > MOST_COLUMNS:
        raise UserError(
            f"{path}: has {columns:,} columns; at most {MOST_COLUMNS:,} are prepared. Use fewer "
            "of them, or dataset.prepare=false if all are numbers."
        )


class Features:
    """Collects features block by block, and refuses the file that goes over the limit."""

    def __init__(self, path: Path, columns: int) -> None:
        self._path, self._columns, self._rows = path, columns, 0
        self._blocks: list[np.ndarray] = []

    def block(self, rows: int) -> np.ndarray:
        """The next block [rows, columns] float32, for the caller to fill."""
        self._rows += rows
        if 4 * self._rows * self._columns > MOST_BYTES:
            raise too_large(self._path)
        self._blocks.append(np.empty((rows, self._columns), dtype=np.float32))
        return self._blocks[-1]

    def joined(self) -> np.ndarray:
        """All rows, X [N, columns]."""
        empty = np.empty((0, self._columns), dtype=np.float32)
        return np.concatenate(self._blocks) if self._blocks else empty


def refuse_large(segments: int, segment_size: int, features: int) -> None:
    """Refuses a drawn stream that would not fit, before it is drawn."""
    if 4 * segments * segment_size * features > MOST_BYTES:
        raise UserError(
            f"dataset.segment_size={segment_size}: {segments} segments of that size with "
            f"{features} features are more than {MOST_BYTES / 2**20:,.0f} MB; lower one of them."
        )
