"""Turns a file's bytes into features and class numbers, by its ending."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sdsl.datasets.arrays import parquet_names, read_npz, read_parquet
from sdsl.datasets.delimited import Text, open_text
from sdsl.datasets.files import Content
from sdsl.datasets.header import first_row_is_header
from sdsl.datasets.labels import encode
from sdsl.datasets.messages import one_line
from sdsl.datasets.text_rows import read_text
from sdsl.errors import UserError


@dataclass(frozen=True)
class Parsed:
    """X [N, d] float32, y [N] int64 in 0..C-1, and the label that each integer stands for."""

    X: np.ndarray
    y: np.ndarray
    classes: tuple[str, ...]
    features: tuple[str, ...] = ()  # names of X's columns, where columns were prepared
    notes: tuple[str, ...] = ()  # what was done with each column of the file


@dataclass(frozen=True)
class Reading:
    """How the user says a table is to be read."""

    label: str | int = -1  # a column's name or number (-1: the last)
    header: bool | None = None  # None: look and see


def parse(content: Content, reading: Reading = Reading()) -> Parsed:  # noqa: B008 (frozen)
    """The rows of a file, or one message that says what is wrong with it."""
    if content.suffix not in PARSERS:
        raise UserError(
            f"{content.path}: unknown ending {content.suffix!r}; expected one of "
            f"{', '.join(PARSERS)}, plain or with .gz or .zip."
        )
    try:
        rows = PARSERS[content.suffix](content, reading)
    except UserError:
        raise
    except Exception as error:  # what csv, zipfile, NumPy or Arrow say of damaged bytes
        raise UserError(
            f"{content.path}: cannot be read as {content.suffix} ({type(error).__name__}: "
            f"{one_line(error)}); get the file again."
        ) from None
    if not len(rows.y):
        raise UserError(f"{content.path}: no rows; expected rows of numbers with a label.")
    if not rows.X.shape[1]:
        raise UserError(f"{content.path}: expected at least one feature beside the label.")
    return rows


def _text(content: Content, reading: Reading) -> Parsed:
    text = open_text(content.path, content.data, reading.label, reading.header)
    at = label_column(content.path, text.names, text.width, reading.label)
    X, labels = read_text(text, at)
    y, classes = encode(labels, content.path)
    if text.doubtful and first_row_is_header(content.path, text.doubtful, at, y, classes):
        X, (y, classes) = X[1:], encode(labels[1:], content.path)
    return Parsed(X, y, classes)


def _arff(content: Content, reading: Reading) -> Parsed:
    text = arff_text(content)
    at = label_column(content.path, text.names, text.width, reading.label)
    X, labels = read_text(text, at)
    return Parsed(X, *encode(labels, content.path))


def arff_text(content: Content) -> Text:
    """Dense ARFF: the attribute names are the header, the rows after @data plain CSV."""
    data = content.data.replace(b"\r\n", b"\n")
    mark = re.search(rb"(?im)^@data[^\n]*\n", data)
    head, body = (data[: mark.start()], data[mark.end() :]) if mark else (b"", b"")
    found = re.findall(rb"(?im)^@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", head)
    if not found or not body.strip():
        raise UserError(f"{content.path}: expected an ARFF file with @attribute, @data and rows.")
    body = re.sub(rb"(?m)^%[^\n]*", b"", body)
    names = [name.decode(errors="replace").strip("'\"") for name in found]
    return Text(content.path, body, 0, ",", len(names), names, head.count(b"\n") + 2)


def _npz(content: Content, reading: Reading) -> Parsed:
    X, labels = read_npz(content)
    return Parsed(X, *encode(labels, content.path))


def _parquet(content: Content, reading: Reading) -> Parsed:
    names = parquet_names(content)
    X, labels = read_parquet(content, label_column(content.path, names, len(names), reading.label))
    return Parsed(X, *encode(labels, content.path))


def label_column(path: Path, names: list[str] | None, width: int, label: str | int) -> int:
    """The position of the label's column."""
    if names and str(label) in names:
        return names.index(str(label))
    if re.fullmatch(r"-?\d{1,9}", str(label)) and -width <= int(label) < width:
        return int(label) % width
    known = f"the header has {', '.join(names[:20])}" if names else "the file has no header"
    raise UserError(
        f"{path}: no label column {label!r} among {width} columns; {known}. Set "
        "dataset.label to a name in the header, a column number from 0, or -1 for the last."
    )


PARSERS: dict[str, Callable[[Content, Reading], Parsed]] = {
    **dict.fromkeys((".csv", ".txt", ".dat"), _text),
    ".arff": _arff,
    ".npz": _npz,
    ".parquet": _parquet,
}
