"""Turns a file's bytes into features and class numbers, by its ending; nothing is unpickled."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sdsl.datasets.delimited import Text, open_text, read_text
from sdsl.datasets.files import Content, checked_zip
from sdsl.errors import UserError


@dataclass(frozen=True)
class Parsed:
    """X [N, d] float32, y [N] int64 in 0..C-1, and the label that each integer stands for."""

    X: np.ndarray
    y: np.ndarray
    classes: tuple[str, ...]


def parse(content: Content, label: str | int = -1, header: bool | None = None) -> Parsed:
    """`label` is a column's name or number (-1: the last); `header` None means look and see."""
    if content.suffix not in PARSERS:
        raise UserError(
            f"{content.path}: unknown ending {content.suffix!r}; expected one of "
            f"{', '.join(PARSERS)}, plain or with .gz or .zip."
        )
    try:
        X, labels = PARSERS[content.suffix](content, label, header)
        y, classes = encode(labels)
    except UserError:
        raise
    except Exception as error:  # what csv, zipfile, NumPy or Arrow say of damaged bytes
        raise UserError(
            f"{content.path}: cannot be read as {content.suffix} ({type(error).__name__}: "
            f"{error}); get the file again."
        ) from None
    if not len(y):
        raise UserError(f"{content.path}: no rows; expected rows of numbers with a label.")
    if not X.shape[1]:
        raise UserError(f"{content.path}: expected at least one feature beside the label.")
    return Parsed(X, y, classes)


def encode(labels: pa.ChunkedArray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class numbers in the labels' natural order: by value where they are numbers, else by name."""
    coded = pc.utf8_trim_whitespace(labels).combine_chunks().dictionary_encode()
    seen = coded.dictionary.to_pylist()
    plain = [re.sub(r"^(-?\d+)\.0+$", r"\1", s) for s in seen]  # 1.0 and 1 are one class
    classes = sorted(set(plain), key=_natural)
    place = np.array([classes.index(p) for p in plain], dtype=np.int64)
    return place[coded.indices.to_numpy()], tuple(classes)


def _natural(label: str) -> tuple[bool, float, str]:
    number = re.fullmatch(r"[-+]?\d+(\.\d+)?", label)
    return (number is None, float(label) if number else 0.0, label)


def _column(content: Content, names: list[str] | None, width: int, label: str | int) -> int:
    """The position of the label's column."""
    if names and str(label) in names:
        return names.index(str(label))
    if re.fullmatch(r"-?\d+", str(label)) and -width <= int(label) < width:
        return int(label) % width
    known = f"the header has {', '.join(names[:20])}" if names else "the file has no header"
    raise UserError(
        f"{content.path}: no label column {label!r} among {width} columns; {known}. Set "
        "dataset.label to a name in the header, a column number from 0, or -1 for the last."
    )


def _text(content: Content, label: str | int, header: bool | None):
    text = open_text(content.path, content.data, header)
    return read_text(text, _column(content, text.names, text.width, label))


def _arff(content: Content, label: str | int, header: bool | None):
    """Dense ARFF: the attribute names are the header, the rows after @data plain CSV."""
    data = content.data.replace(b"\r\n", b"\n")
    mark = re.search(rb"(?im)^@data[^\n]*\n", data)
    head, body = (data[: mark.start()], data[mark.end() :]) if mark else (b"", b"")
    names = re.findall(rb"(?im)^@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", head)
    if not names or not body.strip():
        raise UserError(f"{content.path}: expected an ARFF file with @attribute, @data and rows.")
    body = re.sub(rb"(?m)^%[^\n]*", b"", body)
    names = [n.decode(errors="replace").strip("'\"") for n in names]
    first_line = head.count(b"\n") + 2
    text = Text(content.path, body, ",", len(names), names, first_line)
    return read_text(text, _column(content, names, len(names), label))


def _npz(content: Content, label: str | int, header: bool | None):
    """An NPZ with the arrays X [N, d] and y [N]."""
    checked_zip(content.path, content.data).close()
    try:
        with np.load(io.BytesIO(content.data), allow_pickle=False) as arrays:
            X, y = arrays["X"], arrays["y"]
    except (KeyError, ValueError, OSError) as error:
        raise UserError(
            f"{content.path}: expected an NPZ with the plain arrays X and y ({error})."
        ) from None
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or X.dtype.kind not in "fiub":
        raise UserError(
            f"{content.path}: expected numbers X [N, d] and labels y [N], found X {X.dtype} "
            f"{list(X.shape)} and y {list(y.shape)}."
        )
    return _finite(content, X), pa.chunked_array([pa.array(y.astype(str), pa.string())])


def _parquet(content: Content, label: str | int, header: bool | None):
    try:
        table = pq.read_table(io.BytesIO(content.data))
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{content.path}: not a readable Parquet file ({error}).") from None
    names = table.column_names
    at = _column(content, names, len(names), label)
    for name, column in zip(names, table.columns, strict=True):
        number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if name != names[at] and not (number or pa.types.is_boolean(column.type)):
            raise UserError(
                f"{content.path}, column {name}: expected numbers, found {column.type}."
            )
        if column.null_count:
            raise UserError(f"{content.path}, column {name}: {column.null_count} missing values.")
    X = [c.to_numpy() for i, c in enumerate(table.columns) if i != at]
    X = np.stack(X, axis=1) if X else np.empty((len(table), 0))
    return _finite(content, X), pc.cast(table.column(at), pa.string())


def _finite(content: Content, X: np.ndarray) -> np.ndarray:
    X = X.astype(np.float32)
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise UserError(
            f"{content.path}, row {row + 1}, column {column + 1}: expected a finite number, found "
            f"{X[row, column]}."
        )
    return X


PARSERS: dict[str, Callable] = {
    **dict.fromkeys((".csv", ".txt", ".dat"), _text),
    ".arff": _arff,
    ".npz": _npz,
    ".parquet": _parquet,
}
