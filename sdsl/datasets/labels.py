"""Turns labels into class numbers, after refusing what cannot be the name of a class."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from sdsl.datasets.messages import shown
from sdsl.errors import UserError

# How files spell a missing value. It would pass for a class of its own otherwise.
MISSING = frozenset(
    ("", "?", "na", "n/a", "#na", "#n/a", "<na>", "nan", "-nan", "+nan", "nat", "null")
)
LINE_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def problem(label: str) -> str | None:
    """Why this cannot be a class, or None."""
    if LINE_BREAK.search(label):
        return (
            f"expected a class label on one line, found {shown(label)} with a line break inside; "
            'a quote (") may be missing or one too many'
        )
    name = label.strip()
    if name.lower() not in MISSING:
        return None
    found = f"{name!r}, which stands for a missing value" if name else "nothing"
    return f"expected a class label, found {found}"


def given(value: object) -> str | None:
    """The label in a cell of a table, None where there is none; 1.0 is 1."""
    if value is None or value != value or str(value) == "<NA>":  # NaN is not itself
        return None
    text = str(value).strip()
    return None if text.lower() in MISSING else _plain(text)


def _plain(text: str) -> str:
    return re.sub(r"^(-?\d+)\.0+$", r"\1", text)


def distinct(labels: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """The labels that occur, each once, and for every row its place [N] among them."""
    coded = labels if pa.types.is_dictionary(labels.type) else labels.dictionary_encode()
    merged = coded.combine_chunks()
    if isinstance(merged, pa.ChunkedArray):  # no rows, so no chunks
        return [], np.empty(0, dtype=np.int64)
    used, place = np.unique(merged.indices.to_numpy(), return_inverse=True)
    return merged.dictionary.take(pa.array(used)).cast(pa.string()).to_pylist(), place


def encode(labels: pa.ChunkedArray, path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class numbers [N] in the labels' natural order: numbers by value, then names."""
    seen, place = distinct(labels)
    for i, label in enumerate(seen):
        if wrong := problem(label):
            raise UserError(f"{path}, row {int(np.argmax(place == i)) + 1}: {wrong}.")
    plain = [_plain(label.strip()) for label in seen]
    classes = sorted(set(plain), key=_natural)
    number = {name: c for c, name in enumerate(classes)}
    return np.array([number[name] for name in plain], dtype=np.int64)[place], tuple(classes)


def is_number(label: str) -> bool:
    return re.fullmatch(r"[-+]?\d+(\.\d+)?", label) is not None


def _natural(label: str) -> tuple[bool, float, str]:
    number = is_number(label)
    return (not number, float(label) if number else 0.0, label)
