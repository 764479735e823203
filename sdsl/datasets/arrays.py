"""Reads NPZ and Parquet files in bounded memory; nothing is unpickled."""

import io
import zipfile
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sdsl.datasets import limits
from sdsl.datasets.files import Content
from sdsl.datasets.messages import one_line
from sdsl.datasets.unpack import open_zip, read_member
from sdsl.errors import UserError

BATCH = 2**16  # rows of a Parquet file read at a time


def read_npz(content: Content) -> tuple[np.ndarray, pa.ChunkedArray]:
    """X [N, d] float32 and labels [N] of an NPZ with the arrays X and y."""
    with open_zip(io.BytesIO(content.data), content.path) as archive:
        X, y = (_array(content, archive, name) for name in ("X", "y"))
    numbers, names = X.dtype.kind in "fiub", y.dtype.kind in "fiubUS"
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or not (numbers and names):
        raise UserError(
            f"{content.path}: expected numbers X [N, d] and labels y [N], found X {X.dtype} "
            f"{list(X.shape)} and y {y.dtype} {list(y.shape)}."
        )
    with np.errstate(over="ignore"):
        X = X.astype(np.float32)
    # Only the distinct labels become text: a million numbers as text take 84 MB.
    distinct, place = np.unique(y, return_inverse=True)
    labels = pa.DictionaryArray.from_arrays(place, pa.array(distinct.astype(str), pa.string()))
    return _finite(content, X, 0), pa.chunked_array([labels])


def _array(content: Content, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    expected = f"{content.path}: expected an NPZ with the plain arrays X and y"
    if f"{name}.npy" not in archive.namelist():
        raise UserError(f"{expected}; it has no {name}.")
    data = io.BytesIO(read_member(archive, f"{name}.npy", content.path))
    try:
        return np.lib.format.read_array(data, allow_pickle=False)
    except (ValueError, EOFError, MemoryError) as error:
        raise UserError(f"{expected} ({one_line(error)}).") from None


def parquet_names(content: Content) -> list[str]:
    """The columns of a Parquet file."""
    names = list(_open(content).schema_arrow.names)
    if names and Counter(names).most_common(1)[0][1] > 1:
        raise UserError(f"{content.path}: two columns of one name; rename one of them.")
    return names


def read_parquet(content: Content, label: int) -> tuple[np.ndarray, pa.ChunkedArray]:
    """X [N, width - 1] float32 and the label column, batch by batch."""
    schema = _open(content).schema_arrow
    _check_columns(content, schema, label)
    # A long label that occurs a million times stays one entry of a dictionary.
    file = _open(content, read_dictionary=[schema.names[label]])
    _check_size(content, file.metadata)
    features, labels = limits.Features(content.path, len(schema.names) - 1), []
    done = 0
    for batch in file.iter_batches(BATCH):
        for column, name in zip(batch.columns, schema.names, strict=True):
            if column.null_count:
                raise UserError(
                    f"{content.path}, column {name}: {column.null_count} missing values in rows "
                    f"{done + 1} to {done + len(batch)}."
                )
        block = features.block(len(batch))
        with np.errstate(over="ignore"):
            for i in range(block.shape[1]):
                block[:, i] = batch.column(i + (i >= label)).to_numpy(zero_copy_only=False)
        _finite(content, block, done)
        labels.append(_named(batch.column(label)))
        done += len(batch)
    if not labels:
        return features.joined(), pa.chunked_array([], pa.string())
    return features.joined(), pa.chunked_array(labels)


def _check_size(content: Content, metadata: pq.FileMetaData) -> None:
    """What the file says of itself; what it really holds is checked while reading."""
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    encoded = sum(group.total_byte_size for group in groups)
    if max(encoded, 4 * metadata.num_rows * metadata.num_columns) > limits.MOST_BYTES:
        raise limits.too_large(content.path)


def _open(content: Content, read_dictionary: list[str] | None = None) -> pq.ParquetFile:
    try:
        source = pa.BufferReader(content.data)
        return pq.ParquetFile(source, read_dictionary=read_dictionary)
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"{content.path}: not a readable Parquet file ({one_line(error)})."
        ) from None


def _check_columns(content: Content, schema: pa.Schema, label: int) -> None:
    """Before any row is read: features are plain numbers, a label is no list and no table."""
    for i, field in enumerate(schema):
        plain = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        plain = plain or pa.types.is_boolean(field.type)
        if i != label and not plain:
            raise UserError(
                f"{content.path}, column {field.name}: expected numbers, found {field.type}."
            )
        if i == label and pa.types.is_nested(field.type):
            raise UserError(
                f"{content.path}, column {field.name}: expected labels, found {field.type}."
            )


def _named(column: pa.Array) -> pa.Array:
    """Labels as strings, each distinct one once."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        coded.indices.cast(pa.int32()), coded.dictionary.cast(pa.string())
    )


def _finite(content: Content, X: np.ndarray, before: int) -> np.ndarray:
    """X itself; `before` rows of the file came before it."""
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise UserError(
            f"{content.path}, row {before + row + 1}, column {column + 1}: expected a finite "
            f"number, found {X[row, column]}."
        )
    return X
