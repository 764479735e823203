"""Reads delimited text: pyarrow for speed, and a slow second look that names the bad line."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from sdsl.errors import UserError

LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Text:
    """Delimited rows of one file, the line they start at, and the columns' names if it has any."""

    path: Path
    body: bytes
    delimiter: str
    width: int
    names: list[str] | None
    first_line: int


def open_text(path: Path, data: bytes, header: bool | None = None) -> Text:
    """Finds delimiter and header; `header` None means look and see."""
    data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    body = data.lstrip(b"\n")
    skipped = len(data) - len(body)
    head, _, rest = body.partition(b"\n")
    first = _decode(path, head, skipped + 1)
    delimiter = next((d for d in ",;\t" if d in first), " ")
    if delimiter == " ":  # any run of blanks separates, as in the UCI files
        body, delimiter = re.sub(rb"[ \t]+", b",", re.sub(rb"(?m)^[ \t]+|[ \t]+$", b"", body)), ","
        head, _, rest = body.partition(b"\n")
        first = head.decode()
    fields = [f.strip() for f in next(csv.reader([first], delimiter=delimiter))]
    if not (_looks_like_header(fields) if header is None else header):
        return Text(path, body, delimiter, len(fields), None, skipped + 1)
    if twice := sorted({f for f in fields if fields.count(f) > 1}):
        raise UserError(
            f"{path}, line {skipped + 1}: duplicate header {twice[0]!r}; expected every column "
            "name once. Rename one of them."
        )
    if not rest.strip():
        raise UserError(f"{path}: a header and no rows; expected rows of numbers with a label.")
    return Text(path, rest, delimiter, len(fields), fields, skipped + 2)


def read_text(text: Text, label: int) -> tuple[np.ndarray, pa.ChunkedArray]:
    """X [N, width - 1] float32 and the label column as strings."""
    names = [str(i) for i in range(text.width)]
    types = {n: pa.string() if i == label else pa.float64() for i, n in enumerate(names)}
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(text.body),
            read_options=arrow_csv.ReadOptions(column_names=names),
            parse_options=arrow_csv.ParseOptions(delimiter=text.delimiter),
            # No spelling of "missing" is accepted: a gap must be an error, not a NaN.
            convert_options=arrow_csv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowInvalid as error:
        raise blame(text, label) or UserError(f"{text.path}: {error}") from None
    features = [n for i, n in enumerate(names) if i != label]
    X = np.empty((len(table), len(features)), dtype=np.float32)
    with np.errstate(over="ignore"):  # a number too large becomes inf, which is found below
        for i, name in enumerate(features):
            X[:, i] = table.column(name).to_numpy()
    labels = table.column(str(label))
    if not np.isfinite(X).all() or pc.any(pc.equal(labels, "")).as_py():
        raise blame(text, label) or UserError(f"{text.path}: a number too large for float32.")
    return X, labels


def blame(text: Text, label: int) -> UserError | None:
    """The first line that is not `width` fields with finite numbers outside the label."""
    lines = io.StringIO(text.body.decode(errors="replace"))
    reader = csv.reader(lines, delimiter=text.delimiter)
    for row in reader:
        if not row:
            continue
        where = f"{text.path}, line {text.first_line + reader.line_num - 1}"
        if len(row) != text.width:
            return UserError(
                f"{where}: expected {text.width} columns like the first line, found {len(row)}. "
                "Correct that line, or get the file again if it was cut short."
            )
        for i, value in enumerate(row):
            if problem := _problem(value, i == label):
                name = f" ({text.names[i]})" if text.names else ""
                return UserError(f"{where}, column {i + 1}{name}: {problem}.")
    return None


def _problem(value: str, is_label: bool) -> str | None:
    if is_label:
        return None if value.strip() else "expected a class label, found nothing"
    try:
        if abs(float(value)) <= LARGEST:
            return None
    except ValueError:
        return f"expected a number, found {value!r}"
    return f"expected a finite number, found {value!r}"


def _looks_like_header(fields: list[str]) -> bool:
    """No field is a number: a row with one is data, and bad data must not pass as names."""
    gaps = {"", "na", "nan", "null", "inf", "-inf", "+inf"}
    return all(_problem(f, is_label=False) and f.lower() not in gaps for f in fields)


def _decode(path: Path, line: bytes, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise UserError(
            f"{path}, line {number}: not UTF-8 text; expected comma separated numbers."
        ) from None
