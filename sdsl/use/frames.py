"""Reads a CSV or Parquet file as a table of columns, and writes it back with columns added.

The cells of a text file stay text, so that what is written back is what was there.
"""

import gzip
import io
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from sdsl.datasets import files
from sdsl.datasets.delimited import open_text
from sdsl.errors import UserError

TEXT = (".csv", ".txt")
ENDINGS = tuple(f"{kind}{packed}" for kind in (*TEXT, ".parquet") for packed in ("", ".gz"))


@dataclass(frozen=True)
class Frame:
    """A file's columns, and how it is written."""

    path: Path
    columns: pd.DataFrame
    suffix: str  # .csv, .txt or .parquet
    delimiter: str = ","
    header: bool = True

    def __len__(self) -> int:
        return len(self.columns)

    def data(self, columns: pd.DataFrame) -> bytes:
        """Columns as a file of this kind."""
        buffer = io.BytesIO()
        if self.suffix == ".parquet":
            columns.to_parquet(buffer, index=False)
        else:
            columns.to_csv(buffer, index=False, sep=self.delimiter, header=self.header)
        packed = self.path.name.lower().endswith(".gz")
        return gzip.compress(buffer.getvalue(), mtime=0) if packed else buffer.getvalue()


def is_readable(path: Path) -> bool:
    """Whether the file's name ends as a table's does."""
    return path.name.lower().endswith(ENDINGS)


def read(path: Path, label: str) -> Frame:
    """The file's columns; a UserError says why it cannot be read."""
    if not is_readable(path):
        raise UserError(f"{path}: unknown ending; expected {', '.join(ENDINGS)}.")
    content = files.read(path)
    try:
        if content.suffix == ".parquet":
            frame = Frame(path, pd.read_parquet(io.BytesIO(content.data)), ".parquet")
        else:
            frame = _text(path, content.data, content.suffix, label)
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


def _text(path: Path, data: bytes, suffix: str, label: str) -> Frame:
    text = open_text(path, data, label)
    names = text.names or [str(i) for i in range(text.width)]
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
    columns = rows.to_pandas()
    return Frame(path, columns, suffix, text.delimiter, text.names is not None)
