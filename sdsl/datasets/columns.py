"""Columns of any kind to numbers: fitted on gold, kept as plain data, the same for every file.

A number stays; a missing one becomes gold's median. Text becomes one-hot categories; a missing one
the most frequent. A time becomes minute, hour and weekday. Parts constant in gold are left out.
"""

import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.tseries.api import guess_datetime_format

from sdsl.config.refusals import suggest
from sdsl.datasets.tables import Names, arrow, missing, numbers, shown, text
from sdsl.errors import UserError

# Parts of a time that come again, and the hours that gold has to span for each to have come round.
# Year, month and day only go on, away from anything gold has.
SPAN = {"hour": 23, "minute": 0, "weekday": 4 * 24}
MOST_CATEGORIES = 100  # of one column; more are names or numbers of things, not categories
LARGEST = float(np.finfo(np.float32).max)
OFFSET = r"(:\d\d(?:[.,]\d+)?)\s*(?:Z|[+-]\d\d:?\d\d)$"  # of a time zone


@dataclass
class Column:
    """How one column is read, learnt from gold."""

    name: str
    kind: str = "number"  # number | category | time
    missing: int = 0  # cells without a value in gold
    fill: str = "the median"  # or the most frequent category; "": missing cells are refused
    categories: list[str] = field(default_factory=list)
    time_format: str | None = None
    parts: dict[str, float] = field(default_factory=dict)  # the features that vary -> their medians

    def values(self, cells: pd.Series, before: int = 0, prefix: str = "") -> dict[str, np.ndarray]:
        """All parts [n] float64, NaN where missing; a cell of another kind is refused."""
        values = arrow(cells)
        gone = missing(values)
        if self.kind == "category":
            texts = np.where(gone, self.fill, text(values).to_numpy(zero_copy_only=False))
            wrong, expected = ~np.isin(texts, self.categories), "a category of gold"
            parts = {f"{self.name}={c}": (texts == c).astype(float) for c in self.categories}
        elif self.kind == "time":
            times = _times(values, self.time_format)
            wrong, expected = times.isna().to_numpy() & ~gone, "a time, as in gold"
            cells = zip(SPAN, (times.dt.hour, times.dt.minute, times.dt.weekday + 1), strict=True)
            parts = {f"{self.name}_{part}": numbers.to_numpy(float) for part, numbers in cells}
        else:
            cell = numbers(values)
            gone |= np.isinf(cell)
            wrong, expected = ~(gone & bool(self.fill)) & ~(abs(cell) <= LARGEST), "a finite number"
            parts = {self.name: np.where(gone, np.nan, cell)}
        if wrong.any():
            row = int(wrong.argmax())
            found = f"expected {expected}, found {shown(values[row])}. Correct it"
            hint = f", or use {prefix}drop=[{self.name}]" if self.fill else ""
            raise UserError(f"row {before + row + 1}, column {self.name}: {found}{hint}.")
        return parts

    def told(self) -> str:
        """A line on how the column is used."""
        if not self.parts:
            why = "a time that spans too little" if self.kind == "time" else "constant"
            return f"{self.name}: {why} in gold, left out"
        how = {"number": "a number", "time": f"a time, as {', '.join(self.parts)}"}
        said = how.get(self.kind, f"{len(self.parts)} categories, one-hot")
        gaps = f"; {self.missing} missing in gold, filled with {self.fill}" if self.missing else ""
        return f"{self.name}: {said}{gaps}"


@dataclass
class Plan:
    """How columns become the features of a model."""

    columns: list[Column]
    ignored: list[str]  # columns that are not used
    label: str
    prefix: str = ""  # before the names of the settings drop and use, in messages

    @property
    def features(self) -> list[str]:
        """The names of X's columns."""
        return [part for column in self.columns for part in column.parts]

    def transform(self, frame: pd.DataFrame, before: int = 0) -> np.ndarray:
        """X [n, d] float32. `before` rows of the file came before these."""
        needed = [column.name for column in self.columns]
        if gone := [name for name in needed if name not in frame.columns]:
            raise UserError(f"column {gone[0]} is missing. {suggest(gone[0], frame.columns)}")
        known = {*needed, *self.ignored, self.label}
        if new := [name for name in frame.columns if name not in known]:
            drop = f"{self.prefix}drop=[{','.join(new[:20])}] leaves it out"
            raise UserError(f"column {new[0]} was not in gold; {drop}.")
        X = []
        for column in self.columns:
            values = column.values(frame[column.name], before, self.prefix)
            for part, median in column.parts.items():
                X.append(np.nan_to_num(values[part].astype(np.float32), nan=median))
        return np.stack(X, axis=1)

    def told(self) -> list[str]:
        """A line on each column."""
        unused = [f"not used: {', '.join(self.ignored)}"] if self.ignored else []
        return [column.told() for column in self.columns if column.fill] + unused

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_plain(cls, held: dict[str, Any]) -> "Plan":
        return cls(**{**held, "columns": [Column(**column) for column in held["columns"]]})


def prepare(
    gold: pd.DataFrame,
    label: str,
    drop: Names = (),
    use: Names = (),
    prefix: str = "",
    strict: bool = False,
) -> Plan:
    """The plan that gold gives, of all columns but the label's; strict: finite numbers only."""
    names = [name for name in gold.columns if name != label]
    for name in sorted({*drop, *use} - {*names}):
        raise UserError(f"There is no column '{name}' to use or drop. {suggest(name, names)}")
    used = [name for name in (use or names) if name not in drop]
    finite = [Column(name, fill="", parts={name: np.nan}) for name in used if strict]
    columns = finite or [_learn(gold[name], prefix) for name in used]
    columns.sort(key=lambda column: column.kind == "category")  # last
    plan = Plan(columns, sorted({*names} - {*used}), label, prefix)
    if not plan.features:
        told = "; ".join(plan.told())
        raise UserError(f"Gold has no column to learn from ({told}). Give more columns or rows.")
    return plan


def _learn(cells: pd.Series, prefix: str) -> Column:
    values = arrow(cells)
    gone = missing(values)
    known = values.filter(pa.array(~gone))
    column = Column(str(cells.name), missing=int(gone.sum()))
    if len(known) and np.isnan(numbers(known)).any():
        column.time_format = _time_format(known)
        column.kind = "time" if column.time_format else "category"
    if column.kind == "category":
        texts = pd.Series(text(known).to_numpy(zero_copy_only=False))
        column.categories, column.fill = sorted(set(texts)), str(texts.mode()[0])
        if len(column.categories) > MOST_CATEGORIES:
            found = f"{len(column.categories)} different texts in {len(known)} gold rows"
            hint = f"Leave it out with {prefix}drop=[{column.name}]"
            raise UserError(f"column {column.name}: {found} are no categories. {hint}.")
    parts = column.values(cells, prefix=prefix)
    if column.kind == "time":
        times = _times(known, column.time_format)
        hours = (times.max() - times.min()) / pd.Timedelta(hours=1)
        parts = {part: parts[part] for part in parts if hours >= SPAN[part.rpartition("_")[2]]}
    for part, cells in parts.items():
        cells = cells[~np.isnan(cells)]
        if len(cells) and np.float32(cells.min()) < np.float32(cells.max()):
            column.parts[part] = float(np.median(cells))
    return column


def _times(values: pa.Array, time_format: str | None) -> pd.Series:
    """[n] of local times, NaT where a cell is none."""
    local = pc.replace_substring_regex(text(values), OFFSET, r"\1").to_pandas()
    return pd.Series(pd.to_datetime(local, format=time_format, errors="coerce"))


def _time_format(known: pa.Array) -> str | None:
    """The format in which all cells are times, if there is one; months come before days."""
    with warnings.catch_warnings(action="ignore"):  # of the second guess where days come first
        first = str(known[0]).strip()
        guesses = [guess_datetime_format(first, dayfirst=dayfirst) for dayfirst in (False, True)]
    fits = (f for f in ("ISO8601", *guesses) if f and _times(known, f).notna().all())
    return next(fits, None)
