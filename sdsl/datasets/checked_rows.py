"""Reads delimited text row by row, and names the first line that is wrong."""

import csv
import io
from collections.abc import Iterator

import numpy as np

from sdsl.datasets import labels
from sdsl.datasets.delimited import Text
from sdsl.datasets.messages import shown
from sdsl.errors import UserError

LARGEST = float(np.finfo(np.float32).max)


def blame(text: Text, label: int) -> UserError | None:
    """The refusal of the first line that is not `width` fields with finite numbers and a label."""
    try:
        for _ in checked_rows(text, label):
            pass
    except UserError as error:
        return error
    return None


def uneven(text: Text) -> UserError | None:
    """The refusal of the first line that is not `width` fields of text."""
    try:
        for _ in _rows(text):
            pass
    except UserError as error:
        return error
    return None


def checked_rows(text: Text, label: int) -> Iterator[tuple[np.ndarray, str]]:
    """Of every row the features [width - 1] and the label; refuses the first bad line."""
    for line, row in _rows(text):
        yield _checked(text, label, line, row)


def _rows(text: Text) -> Iterator[tuple[int, list[str]]]:
    """(the line at which it begins, its fields) of every row; refuses one of another width."""
    file = io.BytesIO(text.data)
    file.seek(text.start)
    reader = csv.reader(map(bytes.decode, file), delimiter=text.delimiter)
    while True:
        line = text.first_line + reader.line_num  # where this row begins; it may have several
        try:
            row = next(reader)
        except StopIteration:
            return
        except UnicodeDecodeError:
            raise UserError(
                f"{text.path}, line {line}: not UTF-8 text; expected comma separated numbers."
            ) from None
        except csv.Error as error:
            raise UserError(
                f'{text.path}, line {line}: cannot be read ({error}). Is a quote (") missing, or '
                "one too many?"
            ) from None
        if row and len(row) != text.width:
            raise UserError(
                f"{text.path}, line {line}: expected {text.width} columns like the first line, "
                f"found {len(row)}. Correct that line, or get the file again if it was cut short."
            )
        if row:
            yield line, row


def _checked(text: Text, label: int, line: int, row: list[str]) -> tuple[np.ndarray, str]:
    features = row[:label] + row[label + 1 :]
    try:
        numbers = np.fromiter(map(float, features), np.float64, len(features))
    except ValueError:
        numbers = np.array([np.nan])
    good = (np.abs(numbers) <= LARGEST).all() and not any("_" in value for value in features)
    if good and not labels.problem(row[label]):
        return numbers, row[label]
    raise _refusal(text, label, line, row)


def _refusal(text: Text, label: int, line: int, row: list[str]) -> UserError:
    """Names the first bad value of a row that has one."""
    problems = (labels.problem(v) if i == label else _problem(v) for i, v in enumerate(row))
    column, problem = next((i, wrong) for i, wrong in enumerate(problems) if wrong)
    name = f" ({text.names[column]})" if text.names else ""
    hint = ""
    if text.doubtful and line == text.first_line:
        hint = " If this line names the columns, set dataset.header=true."
    return UserError(f"{text.path}, line {line}, column {column + 1}{name}: {problem}.{hint}")


def _problem(value: str) -> str | None:
    """Why this is no feature, or None."""
    try:
        # float() takes 1_000 for a number, which no other reader does.
        number = None if "_" in value else float(value)
    except ValueError:
        number = None
    if number is None:
        return f"expected a number, found {shown(value)}"
    if abs(number) <= LARGEST:
        return None
    return f"expected a finite number, found {shown(value)}"
