"""Opens delimited text: finds its delimiter, its header and where its rows begin."""

import csv
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from sdsl.datasets.header import names_columns
from sdsl.errors import UserError

NOT_BLANK = re.compile(rb"\S")


@dataclass(frozen=True)
class Text:
    """Delimited rows of one file: data[start:], the line they begin at, the names of columns."""

    path: Path
    data: bytes
    start: int
    delimiter: str
    width: int
    names: list[str] | None  # None: no header
    first_line: int
    doubtful: list[str] | None = None  # the fields of line 1, if it may turn out to be a header


def open_text(path: Path, data: bytes, label: str | int = -1, header: bool | None = None) -> Text:
    """`header` None means look and see, by the rules of sdsl/datasets/header.py."""
    data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    start = len(data) - len(data.lstrip(b"\n"))
    line = start + 1
    first = _first_line(path, data, start, line)
    delimiter = next((d for d in ",;\t" if d in first), " ")
    if delimiter == " ":  # any run of blanks separates, as in the UCI files
        data = b"\n".join(b",".join(row.split()) for row in data[start:].split(b"\n"))
        start, delimiter = 0, ","
        first = _first_line(path, data, start, line)
    fields = [f.strip() for f in next(csv.reader([first], delimiter=delimiter))]
    if not fields:
        raise UserError(f"{path}: the file is empty; expected rows of numbers with a label.")
    if header is False or (header is None and not names_columns(fields, label)):
        doubtful = fields if header is None else None
        return Text(path, data, start, delimiter, len(fields), None, line, doubtful)
    name, times = Counter(fields).most_common(1)[0]
    if times > 1:
        raise UserError(
            f"{path}, line {line}: duplicate header {name!r}; expected every column name once. "
            "Rename one of them."
        )
    end = data.find(b"\n", start) + 1
    if not end or not NOT_BLANK.search(data, end):
        raise UserError(f"{path}: a header and no rows; expected rows of numbers with a label.")
    return Text(path, data, end, delimiter, len(fields), fields, line + 1)


def _first_line(path: Path, data: bytes, start: int, number: int) -> str:
    end = data.find(b"\n", start)
    try:
        return data[start : end if end >= 0 else len(data)].decode()
    except UnicodeDecodeError:
        raise UserError(
            f"{path}, line {number}: not UTF-8 text; expected comma separated numbers."
        ) from None
