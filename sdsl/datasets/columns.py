"""Columns of any kind to numbers: fitted on gold, kept as plain data, the same for every file.

A number stays; a missing one becomes gold's median. Text becomes one-hot categories; a missing one
the most frequent. A time becomes minute, hour and weekday. What is constant in gold is left out,
and so is a number that only grows, such as an id: the stream has no value that gold had.
"""

import logging
import warnings
from collections import Counter
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
GROWS_ROWS, GROWS_VALUES = 10, 5  # gold rows and values that show that a column only grows
MOST_CATEGORIES = 100  # of one column; more are names or numbers of things, not categories
LARGEST = float(np.finfo(np.float32).max)
THOUSANDS = r"^[-+]?[1-9]\d{0,2},\d{3}$"  # or a decimal comma
OFFSET = r"(:\d\d(?:[.,]\d+)?)\s*(?:Z|[+-]\d\d:?\d\d)$"  # of a time zone
Odd = Counter[tuple[str, str]]  # (column, cell) -> cells that are taken as missing, see `remarks`
log = logging.getLogger(__name__)


@dataclass
class Column:
    """How one column is read, learnt from gold."""

    name: str
    kind: str = "number"  # number | category | time
    missing: int = 0  # cells without a value in gold, infinite ones among them
    infinite: int = 0
    comma: bool = False  # decimals may have a comma
    grows: bool = False  # never falls in gold
    fill: str = "the median"  # or the most frequent category; "": missing cells are refused
    categories: list[str] = field(default_factory=list)
    time_format: str | None = None
    parts: dict[str, float] = field(default_factory=dict)  # the features that vary -> their medians

    def values(
        self, cells: pd.Series, before: int = 0, prefix: str = "", odd: Odd | None = None
    ) -> dict[str, np.ndarray]:
        """All parts [n] float64, NaN where missing; a cell of another kind is refused.

        odd counts what is taken as missing: categories that gold lacks, and infinite numbers.
        """
        values, odd = arrow(cells), Counter() if odd is None else odd
        gone, wrong = np.zeros(len(values), bool), np.zeros(len(values), bool)
        if self.kind != "number" or np.isnan(cell := numbers(values, self.comma)).any():
            gone = missing(values)
        if self.kind == "category":
            texts = np.where(gone, self.fill, text(values).to_numpy(zero_copy_only=False))
            new = ~np.isin(texts, self.categories)
            odd.update((self.name, str(one)) for one in texts[new])
            texts, expected = np.where(new, self.fill, texts), "a category of gold"
            parts = {f"{self.name}={c}": (texts == c).astype(float) for c in self.categories}
        elif self.kind == "time":
            times = _times(values, self.time_format)
            wrong = times.isna().to_numpy() & ~gone
            expected = f"a time as in gold ({self.time_format})"
            cells = zip(SPAN, (times.dt.hour, times.dt.minute, times.dt.weekday + 1), strict=True)
            parts = {f"{self.name}_{part}": numbers.to_numpy(float) for part, numbers in cells}
        else:
            if (infinite := np.isinf(cell)).any() and self.fill:
                odd[self.name, "inf"] += int(infinite.sum())
            gone |= infinite
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
            why, keep = (why, "") if not self.grows else ("only grows", f" (keep=[{self.name}])")
            return f"{self.name}: {why} in gold, left out{keep}"
        how = {"number": f"a number{', decimals with a comma' if self.comma else ''}"}
        how["time"] = f"a time ({self.time_format}), as {', '.join(self.parts)}"
        said = how.get(self.kind, f"{len(self.parts)} categories, one-hot")
        gaps = f" ({self.infinite} infinite)" if self.infinite else ""
        gaps = f"; {self.missing} missing{gaps} in gold, filled with {self.fill}"
        gaps = gaps if self.missing else ""
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

    def transform(self, frame: pd.DataFrame, before: int = 0, odd: Odd | None = None) -> np.ndarray:
        """X [n, d] float32. `before` rows of the file came before these.

        odd collects cells for `remarks`, over pieces of a file; without it they are logged.
        """
        needed = [column.name for column in self.columns]
        if gone := [name for name in needed if name not in frame.columns]:
            raise UserError(f"column {gone[0]} is missing. {suggest(gone[0], frame.columns)}")
        known = {*needed, *self.ignored, self.label}
        if new := [name for name in frame.columns if name not in known]:
            drop = f"{self.prefix}drop=[{','.join(new[:20])}] leaves it out"
            raise UserError(f"column {new[0]} was not in gold; {drop}.")
        X, found = [], Counter() if odd is None else odd
        for column in self.columns:
            values = column.values(frame[column.name], before, self.prefix, found)
            for part, median in column.parts.items():
                X.append(np.nan_to_num(values[part].astype(np.float32), nan=median))
        for line in self.remarks(found, len(frame)) if odd is None else ():
            log.warning(line)
        return np.stack(X, axis=1)

    def remarks(self, odd: Odd, rows: int) -> list[str]:
        """A line on each column with cells that are taken as missing; refused if most are new."""
        lines = []
        for column in self.columns:
            found = {cell: n for (name, cell), n in odd.items() if name == column.name}
            if n := sum(found.values()):
                some = ", ".join(map(shown, [*found][:3]))
                if column.kind == "category" and 2 * n > rows:
                    why = f"{n} of {rows} cells are no category of gold, such as {some}"
                    hint = f"Correct them, or use {self.prefix}drop=[{column.name}]"
                    raise UserError(f"column {column.name}: {why}. {hint}.")
                what = f"not in gold ({some})" if column.kind == "category" else "infinite"
                lines.append(f"column {column.name}: {n} of {rows} cells {what}, taken as missing")
        return lines

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
    keep: Names = (),
) -> Plan:
    """The plan that gold gives, of all columns but the label's.

    strict: finite numbers only. keep: columns that may only grow.
    """
    names = [name for name in gold.columns if name != label]
    for name in sorted({*drop, *use, *keep} - {*names}):
        raise UserError(f"There is no column '{name}' to use, drop or keep. {suggest(name, names)}")
    used = [name for name in (use or names) if name not in drop]
    finite = [Column(name, fill="", parts={name: np.nan}) for name in used if strict]
    columns = finite or [_learn(gold[name], prefix, name in keep) for name in used]
    for column in columns if any(column.comma for column in columns) else ():
        column.comma = column.kind == "number"  # gold's cells may be whole by chance
    columns.sort(key=lambda column: column.kind == "category")  # last
    plan = Plan(columns, sorted({*names} - {*used}), label, prefix)
    if not plan.features:
        told = "; ".join(plan.told())
        raise UserError(f"Gold has no column to learn from ({told}). Give more columns or rows.")
    return plan


def _learn(cells: pd.Series, prefix: str, keep: bool) -> Column:
    values = arrow(cells)
    gone = missing(values)
    known = values.filter(pa.array(~gone))
    column = Column(str(cells.name), missing=int(gone.sum()))
    column.comma = _has_decimal_commas(column.name, known)
    if len(known) and np.isnan(numbers(known, column.comma)).any():
        column.time_format = _time_format(known)
        column.kind = "time" if column.time_format else "category"
    if column.kind == "category":
        texts = pd.Series(text(known).to_numpy(zero_copy_only=False))
        column.categories, column.fill = sorted(set(texts)), str(texts.mode()[0])
        if len(column.categories) > MOST_CATEGORIES:
            found = f"{len(column.categories)} different texts in {len(known)} gold rows"
            hint = f"Leave it out with {prefix}drop=[{column.name}]"
            raise UserError(f"column {column.name}: {found} are no categories. {hint}.")
    parts = column.values(cells, 0, prefix, odd := Odd())
    column.infinite = odd.total()
    column.missing += column.infinite
    if column.kind == "time":
        times = _times(known, column.time_format)
        hours = (times.max() - times.min()) / pd.Timedelta(hours=1)
        parts = {part: parts[part] for part in parts if hours >= SPAN[part.rpartition("_")[2]]}
    for part, cells in parts.items():
        cells = cells[~np.isnan(cells)]
        if len(cells) and np.float32(cells.min()) < np.float32(cells.max()):
            column.parts[part] = float(np.median(cells))
            rows, values = len(cells), len(np.unique(cells))
            column.grows = column.kind == "number" and bool((np.diff(cells) >= 0).all())
            column.grows &= rows >= GROWS_ROWS and values >= GROWS_VALUES and not keep
    column.parts = {} if column.grows else column.parts
    return column


def _has_decimal_commas(name: str, known: pa.Array) -> bool:
    """Whether the cells are numbers, some with a decimal comma; thousands are refused."""
    if not np.isnan(numbers(known)).any() or np.isnan(numbers(known, True)).any():
        return False
    cells = text(known)
    with_comma = pc.match_substring(cells, ",").to_numpy(zero_copy_only=False)
    thousands = pc.match_substring_regex(cells, THOUSANDS).to_numpy(zero_copy_only=False)
    if (thousands == with_comma).all() and not with_comma.all():
        found = f"in {shown(cells[int(with_comma.argmax())])} the comma may be decimal or not"
        raise UserError(f"column {name}: {found}. Write thousands without one, 1.5 with a point.")
    return True


def _times(values: pa.Array, time_format: str | None) -> pd.Series:
    """[n] of local times, NaT where a cell is none."""
    local = pc.replace_substring_regex(text(values), OFFSET, r"\1").to_pandas()
    return pd.Series(pd.to_datetime(local, format=time_format, errors="coerce"))


def _time_format(known: pa.Array) -> str | None:
    """The format in which all cells are times, if there is one.

    Where day or month may come first, that by which rows go back in time less often, or span less.
    """
    with warnings.catch_warnings(action="ignore"):  # of the second guess where days come first
        first = str(known[0]).strip()
        guesses = [guess_datetime_format(first, dayfirst=dayfirst) for dayfirst in (False, True)]
    found = {f: _times(known, f) for f in dict.fromkeys(("ISO8601", *guesses)) if f}
    fits = {f: times for f, times in found.items() if times.notna().all()}
    back = {f: int((times.diff() < pd.Timedelta(0)).sum()) for f, times in fits.items()}
    return min(fits, key=lambda f: (back[f], fits[f].max() - fits[f].min()), default=None)
