"""The one reader of people's tables, delimited text or Parquet, as pandas columns backed by Arrow.

The cells of a text file stay text, so that a file that is written back has the cells it had. Arrow
parses numbers exactly; pandas' own parser and `pandas.to_numeric` differ in the last digit.
"""

import codecs
import io
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
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
HINTS["utf-8"] = "Save it as CSV in UTF-8; python -m sdsl.label also reads encoding=latin-1."
NUMBER = re.compile(r"(?i)^[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?|inf(inity)?)$")
# A cell of a line that semicolons separate: a comma in it is that of a decimal number.
DECIMAL = re.compile(rb"[^,]*|\s*[-+]?\d*,\d+\s*")
PIECE, PIECE_ROWS = 2**23, 100_000  # of a file that is read in pieces: bytes of text, Parquet rows


@dataclass(frozen=True)
class Frame:
    """The columns of a file, or of a piece of it, and how it is written."""

    path: Path
    columns: pd.DataFrame
    suffix: str  # .csv, .txt, .dat or .parquet
    delimiter: str = ","
    header: bool = False  # then row 1 is the header, as a spreadsheet counts
    encoding: str = "utf-8"

    def __len__(self) -> int:
        return len(self.columns)

    def labels(self, label: str) -> list[str | None]:
        """The labels that the file carries; None where there is none."""
        if label not in self.columns:
            return [None] * len(self)
        values = arrow(self.columns[label]).dictionary_encode()
        names = [*map(spelled, values.dictionary.to_pylist()), None]  # at the end: of null
        return [names[code] for code in values.indices.fill_null(len(names) - 1).to_pylist()]


def framed(content: Content, label: Label, header: bool | None = None, known: Names = ()) -> Frame:
    """All rows of a file."""
    return next(pieces(content, label, known, header=header, whole=True))


def pieces(
    content: Content,
    label: Label,
    known: Names = (),  # names of columns, which tell a header
    encoding: str = "utf-8",
    header: bool | None = None,  # None: decide by `_is_header`
    whole: bool = False,
) -> Iterator[Frame]:
    """The rows of a file, some megabytes at a time or, whole, all at once."""
    path, suffix = content.path, content.suffix
    if suffix not in files.TABLES:
        kinds = ", ".join(files.TABLES)
        raise UserError(f"{path}: unknown ending {suffix!r}; expected {kinds}, plain or packed.")
    how = label, known, encoding, header
    frames = _parquet(content, whole) if suffix == ".parquet" else _text(content, whole, *how)
    try:
        for frame in frames:
            for name in frame.columns.columns[frame.columns.columns.duplicated()]:
                raise UserError(f"{path}: two columns have the name {name!r}. Rename one of them.")
            yield frame
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        hint = next((HINTS[word] for word in HINTS if word in str(error)), "")
        raise UserError(f"{path}: not a readable {suffix}: {one_line(error)}. {hint}") from None


def _parquet(content: Content, whole: bool) -> Iterator[Frame]:
    file = parquet.ParquetFile(pa.BufferReader(content.data))
    # A pandas index is a column if it has a name.
    names = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
    if 4 * (rows := file.metadata.num_rows) * len(names) > files.LIMIT:
        raise UserError(f"{content.path}: {files.TOO_LARGE}")
    tables = [file.read(names)] if whole or not rows else file.iter_batches(PIECE_ROWS, None, names)
    for table in tables:
        columns = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
        yield Frame(content.path, columns, ".parquet")


def _text(
    content: Content, whole: bool, label: Label, known: Names, encoding: str, header: bool | None
) -> Iterator[Frame]:
    path, cells = content.path, content.data.decode(encoding)  # Arrow's words on it mislead
    data = content.data if encoding == "utf-8" else cells.encode()
    data, cells = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n"), ""
    first = re.match(rb"[^\r\n]*", data)[0]  # type: ignore[index]
    if (delimiter := _delimiter(first)) == " ":  # any run of blanks separates, as in the UCI files
        data, delimiter = b"\n".join(b",".join(row.split()) for row in data.splitlines()), ","
    options = csv.ReadOptions(use_threads=False, autogenerate_column_names=True)
    options.block_size = max(PIECE, 16 * len(first))  # bytes; a row must fit
    rules = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    fields = csv.open_csv(pa.BufferReader(data), options, rules).schema.names
    text = csv.ConvertOptions(column_types=dict.fromkeys(fields, pa.string()))
    # Without threads, so that an error has the number of the row.
    reader = csv.open_csv(pa.BufferReader(data), options, rules, text)
    tables = iter([reader.read_all()] if whole else (pa.Table.from_batches([b]) for b in reader))
    table = next(tables)
    fields = [str(column[0]).strip() for column in table.columns]
    names = [str(i) for i in range(len(fields))]
    if header is None:
        header = _is_header(path, fields, label, known, table.rename_columns(names))
    if header:
        table, names = table.slice(1), fields
    if not len(table):
        raise UserError(f"{path}: a header and no rows; expected rows with a label.")
    for rows in chain([table], tables):
        columns = rows.rename_columns(names).to_pandas(types_mapper=pd.ArrowDtype)
        yield Frame(path, columns, content.suffix, delimiter, header, encoding)


def _delimiter(line: bytes) -> str:
    """The first of , ; tab in the line, but ; beside commas that are decimal ones; else a blank."""
    if b";" in line and all(map(DECIMAL.fullmatch, line.split(b";"))):
        return ";"
    return next((d for d in ",;\t" if d.encode() in line), " ")


def written(path: Path, frames: Iterable[Frame]) -> Iterator[bytes]:
    """The pieces of a table as the bytes of a file of its kind."""
    name = path.name.lower()
    packed = zlib.compressobj(wbits=31) if name.endswith(".gz") else None  # gzip without a time
    table = name.removesuffix(".gz").endswith(".parquet")
    for chunk in _parquet_bytes(frames) if table else _text_bytes(frames):
        yield packed.compress(chunk) if packed else chunk
    yield packed.flush() if packed else b""


def _parquet_bytes(frames: Iterable[Frame]) -> Iterator[bytes]:
    tables = (pa.Table.from_pandas(frame.columns, preserve_index=False) for frame in frames)
    buffer, first = io.BytesIO(), next(tables)
    with parquet.ParquetWriter(buffer, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
    yield buffer.getvalue()


def _text_bytes(frames: Iterable[Frame]) -> Iterator[bytes]:
    encoder = None
    for frame in frames:
        head = frame.header and not encoder
        encoder = encoder or codecs.getincrementalencoder(frame.encoding)("backslashreplace")
        yield encoder.encode(frame.columns.to_csv(index=False, sep=frame.delimiter, header=head))


def _is_header(path: Path, fields: list[str], label: Label, known: Names, table: pa.Table) -> bool:
    """Whether the first line names the columns.

    It does if it holds the label's name, or only known names, or no number. Else it is a row if its
    label stands on another line, too. Else it names the columns if its label is a name and all
    others are numbers; if all are names, or the line counts 0, 1, 2, ..., the user is asked.
    """
    by_label = str(label) in fields and not NUMBER.match(str(label))
    dots = [field.replace(",", ".") for field in fields]
    words = not any(NUMBER.match(field) or field.lower() in MISSING for field in dots)
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


def numbers(values: pa.Array, comma: bool = False) -> np.ndarray:
    """[n] float64, NaN where a cell is no number; comma: decimals may have a comma."""
    if pa.types.is_string(values.type):
        try:  # Arrow's numbers are among ours
            return values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            values = text(values)
        values = pc.replace_substring(values, ",", ".") if comma else values
        values = pc.if_else(pc.match_substring_regex(values, NUMBER.pattern), values, None)
    try:
        return values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowNotImplementedError:  # times
        return np.full(len(values), np.nan)
