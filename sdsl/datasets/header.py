"""Decides whether the first line of a text file names the columns or is a row.

`dataset.header=true` or `false` settles it. Otherwise the first line is a header if

1. `dataset.label` is a name, and it stands in this line; or
2. none of its fields is a number; or
3. its fields are all different, its label occurs on no other line (a class of one row, at the
   very start), and
   - this label is a name while all the others are numbers, or
   - the line only counts the columns: `0,1,2,label`, or `0,1,2` above labels that are names.

Where neither of these last two holds, a header of numbers and a name cannot be told from a row, so
the user is asked. A line with a word among its features is a bad row, never a header: a damaged
first row must not pass for names.
"""

from pathlib import Path

import numpy as np

from sdsl.datasets.labels import is_number
from sdsl.errors import UserError

GAPS = frozenset(("", "na", "nan", "null", "inf", "-inf", "+inf"))


def names_columns(fields: list[str], label: str | int) -> bool:
    """Rules 1 and 2, for which the line itself is enough."""
    if isinstance(label, str) and not is_number(label) and label in fields:
        return True
    return all(f.lower() not in GAPS and not _is_float(f) for f in fields)


def first_row_is_header(
    path: Path, fields: list[str], at: int, y: np.ndarray, classes: tuple[str, ...]
) -> bool:
    """Rule 3: `fields` were read as row 0, their label is in column `at`, y [N] are all labels."""
    if len(y) < 2 or np.count_nonzero(y == y[0]) > 1 or len(set(fields)) < len(fields):
        return False
    named = not is_number(classes[y[0]])
    numbers = [is_number(name) for c, name in enumerate(classes) if c != y[0]]
    if named and (all(numbers) or _counts(fields[:at] + fields[at + 1 :])):
        return True
    if _counts(fields) and not any(numbers):
        return True
    if named or _counts(fields):
        raise UserError(
            f"{path}, line 1: the label {fields[at]!r} occurs on no other line, so this may be a "
            "header or a row; set dataset.header to true or to false."
        )
    return False


def _counts(fields: list[str]) -> bool:
    """0, 1, 2, ... or 1, 2, 3, ...: what tools write for columns without names."""
    return len(fields) > 1 and any(
        fields == [str(i + start) for i in range(len(fields))] for start in (0, 1)
    )


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
