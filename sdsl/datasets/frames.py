"""Reads a CSV or Parquet file as a table of columns, and writes it back with columns added.

The cells of a text file stay text, so that what is written back is what was there.
"""

import gzip
import io
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from sdsl.datasets import files, limits
from sdsl.datasets.checked_rows import uneven
from sdsl.datasets.delimited import Text, open_text
from sdsl.datasets.files import Content
from sdsl.datasets.inputs import ENDINGS, is_readable
from sdsl.datasets.parse import arff_text
from sdsl.errors import UserError


@dataclass(frozen=True)
class Frame:
    """A file's columns, and how it is written."""

    path: Path
    columns: pd.DataFrame
    suffix: str  # .csv, .txt or .parquet
    delimiter: str = ","
    header: bool = True
    doubtful: list[str] | None = None  # the first line, if it may turn out to name the columns

    def __len__(self) -> int:
        return len(self.columns)

    def without_first_row(self) -> "Frame":
        """The same, its doubtful first line taken as the names of the columns."""
        columns = self.columns.iloc[1:].set_axis(self.doubtful, axis=1).reset_index(drop=True)
        return replace(self, columns=columns, header=True, doubtful=None)

    def data(self, columns: pd.DataFrame) -> bytes:
        """Columns as a file of this kind."""
        buffer = io.BytesIO()
        if self.suffix == ".parquet":
            columns.to_parquet(buffer, index=False)
        else:
            columns.to_csv(buffer, index=False, sep=self.delimiter, header=self.header)
        packed = self.path.name.lower().endswith(".gz")
        return gzip.compress(buffer.getvalue(), mtime=0) if packed else buffer.getvalue()


def read(path: Path, label: str) -> Frame:
    """The file's columns; a UserError says why it cannot be read."""
    if not is_readable(path):
        raise UserError(f"{path}: unknown ending; expected {', '.join(ENDINGS)}.")
    return framed(files.read(path), label)


def framed(content: Content, label: str | int, header: bool | None = None) -> Frame:
    """The columns of a file's bytes; label and header as in header.py."""
    path = content.path
    try:
        if content.suffix == ".parquet":
            limits.refuse_wide(path, len(parquet.read_schema(io.BytesIO(content.data))))
            frame = Frame(path, pd.read_parquet(io.BytesIO(content.data)), ".parquet")
        elif content.suffix == ".arff":
            frame = _text(arff_text(content), ".arff")
        elif content.suffix in (".csv", ".txt", ".dat"):
            frame = _text(open_text(path, content.data, label, header), content.suffix)
        else:
            raise UserError(f"{path}: unknown ending {content.suffix!r}; expected a table.")
    except UserError:
        raise
    except Exception as error:  # what pandas and Arrow say of damaged bytes
        first = str(error).strip().splitlines()[0] if str(error).strip() else ""
        raise UserError(f"{path}: cannot be read ({type(error).__name__}: {first}).") from None
    names = [str(name) for name in frame.columns.columns]
    if len(set(names)) < len(names):
        raise UserError(f"{path}: two columns of one name; rename one of them.")
    frame.columns.columns = pd.Index(names)
    return frame


def _text(text: Text, suffix: str) -> Frame:
    limits.refuse_wide(text.path, text.width)
    names = text.names or [str(i) for i in range(text.width)]
    try:
        rows = arrow_csv.read_csv(  # refuses a row that is too short or too long
            io.BytesIO(text.data[text.start :]),
            read_options=arrow_csv.ReadOptions(column_names=names),
            parse_options=arrow_csv.ParseOptions(delimiter=text.delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        if (wrong := uneven(text)) is not None:
            raise wrong from None
        raise
    header = text.names is not None
    return Frame(text.path, rows.to_pandas(), suffix, text.delimiter, header, text.doubtful)
