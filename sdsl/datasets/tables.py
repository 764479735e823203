"""The one reader of people's tables, delimited text or Parquet, as pandas columns backed by Arrow.

The cells of a text file stay text, so that a file that is written back has the cells it had. Arrow
parses numbers exactly; pandas' own parser and `pandas.to_numeric` differ in the last digit.
"""

import gzip
import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from sdsl.datasets import files
from sdsl.datasets.files import Content, one_line
from sdsl.errors import UserError

Label = str | int
Names = Collection[str]
# How files spell a missing value.
MISSING = ("", "?", "na", "n/a", "#na", "#n/a", "<na>", "nan", "-nan", "+nan", "nat", "null")
HINTS = {"columns, got": 'Is a quote (") missing, or was the file cut short?'}
HINTS["utf-8"] = "Save the table as CSV in UTF-8."
NUMBER = re.compile(r"(?i)^[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?|inf(inity)?)$")


@dataclass(frozen=True)
class Frame:
    """A file's columns, and how it is written."""

    path: Path
    columns: pd.DataFrame
    suffix: str  # .csv, .txt, .dat or .parquet
    delimiter: str = ","
    header: bool = False  # then row 1 is the header, as a spreadsheet counts

    def __len__(self) -> int:
        return len(self.columns)

    def labels(self, label: str) -> list[str | None]:
        """The labels that the file carries; None where there is none."""
        if label not in self.columns:
            return [None] * len(self)
        values = arrow(self.columns[label]).dictionary_encode()
        names = [*map(spelled, values.dictionary.to_pylist()), None]  # at the end: of null
        return [names[code] for code in values.indices.fill_null(len(names) - 1).to_pylist()]

    def data(self, columns: pd.DataFrame) -> bytes:
        """Columns as a file of this kind."""
        buffer = io.BytesIO()
        if self.suffix == ".parquet":
            columns.to_parquet(buffer, index=False)
        else:
            columns.to_csv(buffer, index=False, sep=self.delimiter, header=self.header)
        packed = self.path.name.lower().endswith(".gz")
        return gzip.compress(buffer.getvalue(), mtime=0) if packed else buffer.getvalue()


def read(path: Path, label: str, known: Names = ()) -> Frame:
    """The columns of a file that can be written back; `known` names of columns tell a header."""
    if not files.is_readable(path):
        raise UserError(f"{path}: expected {', '.join(files.TABLES)}, plain or with .gz.")
    return framed(files.read(path), label, known=known)


def framed(content: Content, label: Label, header: bool | None = None, known: Names = ()) -> Frame:
    """The columns of a file's bytes; header None: decide by `_is_header`."""
    path, suffix = content.path, content.suffix
    if suffix not in files.TABLES:
        kinds = ", ".join(files.TABLES)
        raise UserError(f"{path}: unknown ending {suffix!r}; expected {kinds}, plain or packed.")
    try:
        frame = _parquet(content) if suffix == ".parquet" else _text(content, label, header, known)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        hint = next((HINTS[word] for word in HINTS if word in str(error)), "")
        raise UserError(f"{path}: not a readable {suffix}: {one_line(error)}. {hint}") from None
    for name in frame.columns.columns[frame.columns.columns.duplicated()]:
        raise UserError(f"{path}: two columns have the name {name!r}. Rename one of them.")
    return frame


def _parquet(content: Content) -> Frame:
    file = parquet.ParquetFile(pa.BufferReader(content.data))
    # A pandas index is a column if it has a name.
    names = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
    if 4 * file.metadata.num_rows * len(names) > files.LIMIT:
        raise UserError(f"{content.path}: {files.TOO_LARGE}")
    columns = file.read(names).to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    return Frame(content.path, columns, ".parquet")


def _text(content: Content, label: Label, header: bool | None, known: Names) -> Frame:
    path, data = content.path, content.data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    data.decode()  # refuses any other encoding, for which Arrow has misleading words
    first = re.match(rb"[^\r\n]*", data)[0]  # type: ignore[index]
    delimiter = next((d for d in ",;\t" if d.encode() in first), " ")
    if delimiter == " ":  # any run of blanks separates, as in the UCI files
        data, delimiter = b"\n".join(b",".join(row.split()) for row in data.splitlines()), ","
    options = csv.ReadOptions(use_threads=False, autogenerate_column_names=True)
    options.block_size = max(2**23, 16 * len(first))  # bytes; a row must fit
    rules = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    names = csv.open_csv(pa.BufferReader(data), options, rules).schema.names
    text = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    # Without threads, so that an error has the number of the row.
    table = csv.read_csv(pa.BufferReader(data), options, rules, text)
    fields = [str(column[0]).strip() for column in table.columns]
    table = table.rename_columns([str(i) for i in range(len(fields))])
    if header is None:
        header = _is_header(path, fields, label, known, table)
    if header:
        table = table.slice(1).rename_columns(fields)
    if not len(table):
        raise UserError(f"{path}: a header and no rows; expected rows with a label.")
    columns = table.to_pandas(types_mapper=pd.ArrowDtype)
    return Frame(path, columns, content.suffix, delimiter, header)


def _is_header(path: Path, fields: list[str], label: Label, known: Names, table: pa.Table) -> bool:
    """Whether the first line names the columns.

    It does if it holds the label's name, or only known names, or no number. Else it is a row if its
    label stands on another line, too. Else it names the columns if its label is a name and all
    others are numbers; if all are names, or the line counts 0, 1, 2, ..., the user is asked.
    """
    by_label = str(label) in fields and not NUMBER.match(str(label))
    words = not any(NUMBER.match(field) or field.lower() in MISSING for field in fields)
    if by_label or words or (known and set(fields) <= set(known)):
        return True
    at = _position(label, len(fields))
    if at is None or len(set(fields)) < len(fields):
        return False
    others = {str(spelled(name)) for name in table.column(at)[1:].unique().to_pylist()}
    own = str(spelled(fields[at]))
    named = not NUMBER.match(own)
    if own in others or not others or not (named or fields == table.column_names):
        return False
    if named and all(map(NUMBER.match, others)):
        return True
    unclear = f"the label {own!r} occurs in no other row, so this may be a header or a row"
    raise UserError(f"{path}, row 1: {unclear}; set dataset.header to true or to false.")


def _position(label: Label, width: int) -> int | None:
    """The column that is meant by a number, negative ones from the end."""
    inside = re.fullmatch(r"-?\d{1,9}", str(label)) and -width <= int(label) < width
    return int(label) % width if inside else None


def column_of(frame: Frame, column: Label, setting: str) -> str:
    """The name of the column that dataset.label or dataset.segment means."""
    names = list(frame.columns)
    if str(column) in names:
        return str(column)
    if (at := _position(column, len(names))) is None:
        known = f"a number from 0, -1 for the last, or a name: {', '.join(names[:20])}"
        why = f"no {setting} column {column!r}. Set dataset.{setting} to {known}"
        raise UserError(f"{frame.path}: {why}.")
    return names[at]


def stretches(frames: Sequence[Frame], column: str) -> tuple[int, ...]:
    """The row after each stretch of equal values, over all frames."""
    values = [value for frame in frames for value in frame.labels(column)]
    if None in values:
        gap = f"data row {values.index(None) + 1} has no value in column {column}"
        raise UserError(f"{frames[0].path}: {gap}, which says what segment it belongs to.")
    return (*(i for i in range(1, len(values)) if values[i] != values[i - 1]), len(values))


def encoded(frames: Sequence[Frame], label: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class numbers [N] of the rows of all frames, and the classes; every row needs a label."""
    names: list[str] = []
    for frame in frames:
        for i, name in enumerate(frame.labels(label)):
            if name is None or len(name.splitlines()) > 1:
                found = shown(frame.columns[label].iloc[i]) if label in frame.columns else "none"
                hint = "Rows without labels are for python -m sdsl.label."
                hint = 'Is a quote (") missing?' if name else hint
                row = f"{frame.path}, row {i + 1 + frame.header}"
                raise UserError(f"{row}: expected a class label, found {found}. {hint}")
            names.append(name)
    values = {name: float(name) if NUMBER.match(name) else np.inf for name in set(names)}
    classes = sorted(values, key=lambda name: (values[name], name))  # numbers first, by value
    number = {name: c for c, name in enumerate(classes)}
    return np.array([number[name] for name in names], dtype=np.int64), tuple(classes)


def spelled(value: object) -> str | None:
    """The label in a cell, None where there is none; 1.0 is 1."""
    text = str(value).strip()
    return None if text.lower() in MISSING else re.sub(r"^(-?\d+)\.0+$", r"\1", text)


def shown(value: object) -> str:
    """A cell, for messages: a stray quote may have put half of the file into it."""
    text = str(value)
    return repr(text if len(text) <= 40 else text[:37] + "...")


def arrow(cells: pd.Series) -> pa.Array:
    """The cells of a column as numbers, text, times or truth values."""
    try:
        values = pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # of several types
        values = pa.array(cells.astype(str).where(cells.notna(), None), pa.string())
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type):
        return values.cast(pa.string())
    if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
        raise UserError(f"column {cells.name}: expected numbers, text or times, not {values.type}.")
    return values


def text(values: pa.Array) -> pa.Array:
    """The cells as text without blanks at the ends."""
    cells = values.cast(pa.string())
    cells = pc.utf8_capitalize(cells) if pa.types.is_boolean(values.type) else cells
    return pc.utf8_trim_whitespace(cells)


def missing(values: pa.Array) -> np.ndarray:
    """[n] of True where a cell is empty or spells a missing value."""
    gone = pc.is_null(values, nan_is_null=True)
    if pa.types.is_string(values.type):
        gone = pc.or_(gone, pc.is_in(pc.utf8_lower(text(values)), pa.array(MISSING)))
    return gone.to_numpy(zero_copy_only=False)


def numbers(values: pa.Array) -> np.ndarray:
    """[n] float64, NaN where a cell is no number."""
    if pa.types.is_string(values.type):
        values = text(values)
        values = pc.if_else(pc.match_substring_regex(values, NUMBER.pattern), values, None)
    try:
        return values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowNotImplementedError:  # times
        return np.full(len(values), np.nan)
