"""Columns of any kind to numbers: fitted on gold, kept as plain data, the same for every file.

A number stays as it is; a missing one becomes the median of gold. A text becomes one-hot categories;
a missing one the most frequent. A time becomes its minute, hour and weekday. Parts that are constant
in gold are left out.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sdsl.config.refusals import suggest
from sdsl.datasets.tables import LARGEST, arrow, is_text, missing, numbers, shown
from sdsl.errors import UserError

# Parts of a time that come again, and the hours that gold has to span for each to have come round.
# Year, month and day only go on, away from anything gold has.
SPAN = {"hour": 23, "minute": 0, "weekday": 4 * 24}
MOST_CATEGORIES = 100  # of one column; more are names or numbers of things, not categories
OFFSET = r"(:\d\d(?:[.,]\d+)?)\s*(?:Z|[+-]\d\d:?\d\d)$"  # of a time zone: times are local ones


@dataclass
class Column:
    """What gold says about one column."""

    name: str
    kind: str  # number | category | time
    missing: int = 0  # cells without a value in gold
    categories: list[str] = field(default_factory=list)
    fill: str = ""  # the most frequent category
    time_format: str | None = None
    parts: dict[str, float] = field(default_factory=dict)  # features -> the median in gold

    def values(self, cells: pd.Series, before: int, prefix: str) -> dict[str, np.ndarray]:
        """All parts [n] float64, NaN where missing; a cell of another kind is refused."""
        values = arrow(cells)
        gone = missing(values)
        if self.kind == "number":
            if _is_time(values):
                raise UserError(f"column {self.name}: a number in gold, a time here.")
            found = numbers(values)
            self._refuse(np.isnan(found) & ~gone, values, before, "a number")
            return {self.name: np.where(np.isfinite(found), found, np.nan)}
        if self.kind == "time":
            times = _times(values, self.time_format)
            self._refuse(times.isna().to_numpy() & ~gone, values, before, "a time")
            return _time_parts(self.name, times)
        if _is_time(values):
            raise UserError(f"column {self.name}: a category in gold, a time here.")
        text = np.where(gone, self.fill, _texts(values))
        if unseen := sorted(set(text) - set(self.categories)):
            raise UserError(
                f"column {self.name}: the category {shown(unseen[0])} was not in gold"
                + (f" (and {len(unseen) - 1} more)" if len(unseen) > 1 else "")
                + f". Leave it out with {prefix}drop=[{self.name}], or give gold rows that have it."
            )
        return {f"{self.name}={c}": (text == c).astype(float) for c in self.categories}

    def _refuse(self, wrong: np.ndarray, values: pa.Array, before: int, kind: str) -> None:
        if wrong.any():
            row = int(wrong.argmax())
            raise UserError(
                f"column {self.name}, row {before + row + 1}: {kind} in gold, "
                f"{shown(values[row])} here."
            )

    def told(self) -> str:
        """What is done with the column."""
        if not self.parts and self.kind == "time":
            return f"{self.name}: a time of which gold spans too little, left out"
        if not self.parts:
            return f"{self.name}: constant in gold, left out"
        how = {
            "number": "a number",
            "time": f"a time, as {', '.join(self.parts)}",
            "category": f"{len(self.categories)} categories, one-hot",
        }[self.kind]
        gap = f"; {self.missing} missing in gold, filled with {self.fill or 'the median'}"
        return f"{self.name}: {how}{gap if self.missing else ''}"


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
        self._check_names(list(frame.columns))
        X = np.empty((len(frame), len(self.features)), np.float32)
        i = 0
        for column in self.columns:
            values = column.values(frame[column.name], before, self.prefix)
            for part, median in column.parts.items():
                large = np.abs(values[part]) > LARGEST
                if large.any():
                    row = before + int(large.argmax()) + 1
                    raise UserError(f"row {row}, column {column.name}: too large a number.")
                X[:, i] = np.where(np.isnan(values[part]), median, values[part])
                i += 1
        return X

    def _check_names(self, there: list[str]) -> None:
        needed = [column.name for column in self.columns]
        for name in needed:
            if name not in there:
                raise UserError(f"column {name} is missing. {suggest(name, there)}")
        for name in there:
            if name not in {*needed, *self.ignored, self.label}:
                raise UserError(
                    f"column {name} was not in gold; {self.prefix}drop=[{name}] leaves it out."
                )

    def told(self) -> list[str]:
        """What is done with the columns, one line each."""
        unused = [f"not used: {', '.join(self.ignored)}"] if self.ignored else []
        return [column.told() for column in self.columns] + unused

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_plain(cls, held: dict[str, Any]) -> "Plan":
        return cls(**{**held, "columns": [Column(**column) for column in held["columns"]]})


def prepare(
    gold: pd.DataFrame,
    label: str,
    drop: Sequence[str] = (),
    use: Sequence[str] = (),
    prefix: str = "",
) -> Plan:
    """What gold says about every column but the label's."""
    names = [name for name in gold.columns if name != label]
    for name in (*drop, *use):
        if name not in names:
            raise UserError(f"There is no column '{name}' to use or drop. {suggest(name, names)}")
    used = [name for name in (use or names) if name not in drop]
    if not used:
        raise UserError(
            f"There is no column left to learn from; see {prefix}drop= and {prefix}use="
        )
    columns = [_learn(gold[name], prefix) for name in used]
    columns.sort(key=lambda column: column.kind == "category")  # last
    plan = Plan(columns, [name for name in names if name not in used], label, prefix)
    if not plan.features:
        raise UserError(
            "Every column of gold is constant, or a time of which gold spans too little: there is "
            "nothing to learn from. Give more columns, or gold of some days."
        )
    return plan


def _learn(cells: pd.Series, prefix: str) -> Column:
    """The column's kind, and its parts that vary in gold."""
    column = _kind(cells, prefix)
    for part, values in column.values(cells, 0, prefix).items():
        known = values[~np.isnan(values)]
        if len(known) and np.float32(known.min()) < np.float32(known.max()):
            column.parts[part] = float(np.median(known))
    if column.kind == "time":
        times = _times(arrow(cells), column.time_format)
        span = (times.max() - times.min()) / pd.Timedelta(hours=1)
        short = {f"{column.name}_{part}" for part, hours in SPAN.items() if span < hours}
        column.parts = {part: v for part, v in column.parts.items() if part not in short}
    return column


def _kind(cells: pd.Series, prefix: str) -> Column:
    name, values = str(cells.name), arrow(cells)
    gone = missing(values)
    known = values.filter(pa.array(~gone))
    column = Column(name, "number", int(gone.sum()))
    if _is_time(values):
        column.kind = "time"
    elif np.isnan(numbers(known)).any():
        column.time_format = _time_format(known)
        column.kind = "time" if column.time_format else "category"
    if column.kind == "category":
        texts = pd.Series(_texts(known))
        column.categories, column.fill = sorted(set(texts)), str(texts.mode().iloc[0])
        if len(column.categories) > MOST_CATEGORIES:
            raise UserError(
                f"column {name}: {len(column.categories)} different texts in {len(known)} gold "
                f"rows are no categories. Leave it out with {prefix}drop=[{name}]."
            )
    return column


def _texts(values: pa.Array) -> np.ndarray:
    """[n] of text, without blanks at its ends."""
    return np.array([str(value).strip() for value in values.to_pylist()], dtype=object)


def _is_time(values: pa.Array) -> bool:
    return pa.types.is_timestamp(values.type) or pa.types.is_date(values.type)


def _times(values: pa.Array, time_format: str | None) -> pd.Series:
    """[n] of local times, NaT where a cell is none."""
    if is_text(values):
        local = pc.replace_substring_regex(pc.utf8_trim_whitespace(values), OFFSET, r"\1")
        return pd.Series(pd.to_datetime(local.to_pandas(), format=time_format, errors="coerce"))
    if not _is_time(values):
        return pd.Series(pd.NaT, index=range(len(values)))
    if getattr(values.type, "tz", None):
        values = pc.local_timestamp(values)
    return values.cast(pa.timestamp("us"), safe=False).to_pandas()


def _time_format(texts: pa.Array) -> str | None:
    """The format in which all of the texts are times, if there is one."""
    # ISO first: skrub's guess fails where a sample does not tell days from months.
    if len(texts) and _times(texts, "ISO8601").notna().all():
        return "ISO8601"
    from skrub import ToDatetime  # takes a second

    reader = ToDatetime()
    local = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), OFFSET, r"\1")
    try:
        times = reader.fit_transform(local.to_pandas())
    except (ValueError, AttributeError):  # no time
        return None
    return reader.format_ if times.notna().all() else None


def _time_parts(name: str, times: pd.Series) -> dict[str, np.ndarray]:
    parts = {"hour": times.dt.hour, "minute": times.dt.minute, "weekday": times.dt.weekday + 1}
    return {f"{name}_{part}": values.to_numpy(np.float64) for part, values in parts.items()}
