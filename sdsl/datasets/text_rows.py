"""Reads the rows of delimited text with pyarrow; very wide files, and errors, take the slow way."""

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from sdsl.datasets import labels as class_labels
from sdsl.datasets.checked_rows import blame, checked_rows
from sdsl.datasets.delimited import Text
from sdsl.datasets.limits import Features
from sdsl.datasets.messages import one_line
from sdsl.errors import UserError

WIDE = 10_000  # columns from which pyarrow, with its buffers for each of them, is the slower way
BLOCK = 2**23  # bytes that pyarrow parses at a time


def read_text(text: Text, label: int) -> tuple[np.ndarray, pa.ChunkedArray]:
    """X [N, width - 1] float32 and the label column as strings."""
    read = _slow if text.width > WIDE else _fast
    try:
        X, labels = read(text, label)
    except pa.ArrowInvalid as error:
        raise blame(text, label) or UserError(f"{text.path}: {one_line(error)}") from None
    if not np.isfinite(X).all():
        raise blame(text, label) or UserError(f"{text.path}: a number too large for float32.")
    if any(map(class_labels.problem, class_labels.distinct(labels)[0])):
        bad = blame(text, label)
        if bad:  # it names the line; without it, encode will name the row
            raise bad
    return X, labels


def _fast(text: Text, label: int) -> tuple[np.ndarray, pa.ChunkedArray]:
    names = [str(i) for i in range(text.width)]
    types = {n: pa.string() if i == label else pa.float64() for i, n in enumerate(names)}
    length = text.data.find(b"\n", text.start) - text.start  # of a line; a block must hold some
    reader = arrow_csv.open_csv(
        pa.BufferReader(pa.py_buffer(text.data).slice(text.start)),
        read_options=arrow_csv.ReadOptions(column_names=names, block_size=max(BLOCK, 4 * length)),
        parse_options=arrow_csv.ParseOptions(delimiter=text.delimiter),
        # No spelling of "missing" is accepted: a gap must be an error, not a NaN.
        convert_options=arrow_csv.ConvertOptions(column_types=types, null_values=[]),
    )
    features, labels = Features(text.path, text.width - 1), []
    with np.errstate(over="ignore"):  # a number too large becomes inf, which read_text refuses
        for batch in reader:
            block = features.block(len(batch))
            for i in range(text.width - 1):
                block[:, i] = batch.column(i + (i >= label)).to_numpy()
            labels.append(batch.column(label))
    return features.joined(), pa.chunked_array(labels, pa.string())


def _slow(text: Text, label: int) -> tuple[np.ndarray, pa.ChunkedArray]:
    features, labels = Features(text.path, text.width - 1), []
    for numbers, name in checked_rows(text, label):
        features.block(1)[0] = numbers
        labels.append(name)
    return features.joined(), pa.chunked_array([pa.array(labels, pa.string())])
