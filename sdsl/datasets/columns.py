"""Columns of any kind to numbers: fitted on gold, kept as plain data, the same for every file.

Numbers stay as they are. Missing values become the median or the most frequent category, categories
are one-hot encoded, times are split into their parts, and what is constant in gold is left out. The
work is done by scikit-learn's and skrub's transformers. `Plan` holds what they learnt; they are
built again from it, so that no transformer has to be stored.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from skrub import DatetimeEncoder, ToDatetime

from sdsl.config.suggest import suggest
from sdsl.datasets.labels import MISSING
from sdsl.errors import UserError

# Parts of a time that come again. Year, month and day only go on, away from anything gold has.
RECURRING = ("_weekday", "_hour", "_minute")
# What gold has to span for a part to have come round: a working week, a day.
SPAN = {"_weekday": pd.Timedelta(days=4), "_hour": pd.Timedelta(hours=23)}
MOST_CATEGORIES = 100  # of one column; more are names or numbers of things, not categories


@dataclass
class Column:
    """What gold says about one column."""

    name: str
    kind: str  # number | category | time
    missing: int = 0  # cells without a value in gold
    categories: list[str] = field(default_factory=list)
    fill: str = ""  # the most frequent category
    time_format: str | None = None
    example: str = ""  # a time of gold: it shows which parts there are

    def parts(self) -> list[str]:
        """The numbers that it gives."""
        if self.kind == "category":
            return [f"{self.name}={c}" for c in self.categories]
        if self.kind == "number":
            return [self.name]
        return [part for part in self._encoder().all_outputs_ if part.endswith(RECURRING)]

    def numbers(self, cells: pd.Series, before: int = 0) -> pd.DataFrame:
        """Its cells as numbers, missing ones as NaN; a cell of another type is refused."""
        if self.kind == "number":
            return pd.DataFrame({self.name: _numbers(self.name, cells, before)})
        times = _times(self.name, cells, self.time_format, before).rename(self.name)
        return self._encoder().transform(times)[self.parts()].astype(np.float64)

    def _encoder(self) -> DatetimeEncoder:
        encoder = DatetimeEncoder(resolution="minute", add_weekday=True, add_total_seconds=False)
        return encoder.fit(pd.Series(pd.to_datetime([self.example]), name=self.name))


@dataclass
class Plan:
    """How columns become the features of a model."""

    columns: list[Column]
    medians: dict[str, float]  # of every number, for missing values
    features: list[str]  # what is left without the constant ones
    ignored: list[str]  # columns of gold that are not used
    label: str
    prefix: str = ""  # before the names of the settings drop and use, in messages

    def transform(self, frame: pd.DataFrame, before: int = 0) -> np.ndarray:
        """Features [n, d] float32; one sentence says what does not fit.

        `before` rows of the file came before these.
        """
        self._check_names(frame)
        others = [c for c in self.columns if c.kind != "category"]
        numbers = [c.numbers(_cells(frame, c.name), before) for c in others]
        parts = []
        if numbers:
            joined = pd.concat(numbers, axis=1)[list(self.medians)]
            # The median of one row is that row: the imputer is as it was when fitted on gold.
            imputer = SimpleImputer(strategy="median", keep_empty_features=True)
            imputer.fit(pd.DataFrame([self.medians]))
            filled = imputer.transform(joined)
            parts.append(pd.DataFrame(filled, columns=list(self.medians)))
        parts += [self._one_hot(c, _cells(frame, c.name)) for c in self.columns if c.categories]
        X = pd.concat(parts, axis=1)[self.features].to_numpy(np.float64)
        with np.errstate(over="ignore"):
            X = X.astype(np.float32)
        if not np.isfinite(X).all():
            row, at = np.argwhere(~np.isfinite(X))[0]
            raise UserError(
                f"row {before + row + 1}, column {self.features[at]}: too large a number."
            )
        return X

    def _one_hot(self, column: Column, cells: pd.Series) -> pd.DataFrame:
        text = _text(column.name, cells)
        unseen = sorted(set(text.dropna()) - set(column.categories))
        if unseen:
            raise UserError(
                f"column {column.name}: the category {unseen[0]!r} was not in gold"
                + (f" (and {len(unseen) - 1} more)" if len(unseen) > 1 else "")
                + f". Leave it out with {self.prefix}drop=[{column.name}], or give gold rows that "
                "have it."
            )
        known = pd.DataFrame({column.name: column.categories})
        imputer = SimpleImputer(strategy="constant", fill_value=column.fill, missing_values=None)
        encoder = OneHotEncoder(categories=[column.categories], sparse_output=False)
        filled = imputer.fit(known.astype(object)).transform(_object(column.name, text))
        return pd.DataFrame(
            encoder.fit(known.to_numpy(object)).transform(filled), columns=column.parts()
        )

    def _check_names(self, frame: pd.DataFrame) -> None:
        there, needed = set(frame.columns), [c.name for c in self.columns]
        for name in needed:
            if name not in there:
                raise UserError(f"column {name} is missing. {suggest(name, there)}")
        known = {*needed, *self.ignored, self.label}
        for name in frame.columns:
            if name not in known:
                raise UserError(
                    f"column {name} was not in gold; {self.prefix}drop=[{name}] leaves it out."
                )

    def told(self) -> list[str]:
        """What is done with the columns, one line each."""
        lines, features = [], set(self.features)
        for column in self.columns:
            left = [part for part in column.parts() if part in features]
            how = {"number": "a number", "time": f"a time, as {', '.join(left)}"}.get(
                column.kind, f"{len(column.categories)} categories, one-hot"
            )
            if not left:
                how = "constant in gold, left out"
                if column.kind == "time":
                    how = "a time of which gold spans too little, left out"
            elif column.missing:
                filled = column.fill or "the median"
                how += f"; {column.missing} missing in gold, filled with {filled}"
            lines.append(f"{column.name}: {how}")
        if self.ignored:
            lines.append(f"not used: {', '.join(self.ignored)}")
        return lines

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
    taken = set(used)
    ignored = [name for name in (*names, *drop) if name not in taken]
    columns = [_learn(name, _cells(gold, name), prefix) for name in used]
    numeric = [c.numbers(_cells(gold, c.name)) for c in columns if c.kind != "category"]
    medians: dict[str, float] = {}
    if numeric:
        joined = pd.concat(numeric, axis=1)
        fitted = SimpleImputer(strategy="median", keep_empty_features=True).fit(joined)
        medians = dict(zip(joined.columns, map(float, fitted.statistics_), strict=True))
    features = [*medians, *(part for c in columns if c.categories for part in c.parts())]
    if not features:
        raise UserError(
            f"There is no column left to learn from; see {prefix}drop= and {prefix}use="
        )
    plan = Plan(columns, medians, features, list(dict.fromkeys(ignored)), label, prefix)
    X = plan.transform(gold)
    varying = X.min(0) < X.max(0)
    if not varying.any():
        raise UserError("Every column of gold is constant: there is nothing to learn from.")
    chosen = VarianceThreshold().fit(X.astype(np.float64)).get_support() & varying
    short = {part for c in columns for part in _short(c, _cells(gold, c.name))}
    found = [name for name, keep in zip(features, chosen, strict=True) if keep]
    plan.features = [name for name in found if name not in short]
    if not plan.features:
        raise UserError(
            f"Gold spans too little time for its only columns ({', '.join(found)}) to say anything "
            "about later rows: give more columns, or gold of some days."
        )
    return plan


def _short(column: Column, cells: pd.Series) -> list[str]:
    """Parts of a time that gold has not seen come round: they only move away from it."""
    if column.kind != "time":
        return []
    times = _times(column.name, cells, column.time_format)
    span = times.max() - times.min()
    ends = tuple(end for end, needed in SPAN.items() if span < needed)
    return [part for part in column.parts() if part.endswith(ends)]


def _learn(name: str, cells: pd.Series, prefix: str) -> Column:
    known = cells.dropna()
    missing = len(cells) - len(known)
    if pd.api.types.is_datetime64_any_dtype(cells):
        return Column(name, "time", missing, example=_example(known))
    as_numbers = pd.to_numeric(known, errors="coerce")
    if as_numbers.notna().all():
        return Column(name, "number", missing)
    text = _text(name, known)
    # ISO first: skrub's guess fails where a sample does not tell days from months.
    for time_format in ("ISO8601", None):
        reader = ToDatetime(format=time_format)
        try:
            times = reader.fit_transform(text.rename(name).reset_index(drop=True))
        except (ValueError, AttributeError):  # skrub: no time; several time zones
            continue
        if times.notna().all():
            return Column(name, "time", missing, [], "", reader.format_, _example(times))
    categories = sorted(set(text))
    if len(categories) > MOST_CATEGORIES:
        raise UserError(
            f"column {name}: {len(categories)} different texts in {len(known)} gold rows are no "
            f"categories. Leave it out with {prefix}drop=[{name}]."
        )
    return Column(name, "category", missing, categories, str(text.mode().iloc[0]))


def _cells(frame: pd.DataFrame, name: str) -> pd.Series:
    """A column with every spelling of "missing" as a missing value."""
    cells = frame[name].reset_index(drop=True)
    if cells.dtype == object or pd.api.types.is_string_dtype(cells):
        text = cells.astype(object).where(cells.notna(), None)
        gone = text.map(lambda v: isinstance(v, str) and v.strip().lower() in MISSING)
        return text.mask(gone.astype(bool), None)
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return _cells(pd.DataFrame({name: cells.astype(object)}), name)
    return cells


def _numbers(name: str, cells: pd.Series, before: int) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(cells):
        raise UserError(f"column {name}: a number in gold, a time here.")
    found = pd.to_numeric(cells, errors="coerce").astype(np.float64)
    _refuse_others(name, "a number", cells, found, before)
    return found.replace([np.inf, -np.inf], np.nan)


def _refuse_others(name: str, kind: str, cells: pd.Series, found: pd.Series, before: int) -> None:
    """A cell that says something, but nothing of the kind that the column has in gold."""
    wrong = found.isna() & cells.notna()
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise UserError(
            f"column {name}, row {before + row + 1}: {kind} in gold, {str(cells[row])[:40]!r} here."
        )


def _times(name: str, cells: pd.Series, time_format: str | None, before: int = 0) -> pd.Series:
    if not pd.api.types.is_datetime64_any_dtype(cells):
        found = pd.to_datetime(cells, format=time_format or "ISO8601", errors="coerce")
        _refuse_others(name, "a time", cells, found, before)
        cells = found
    return cells.dt.tz_localize(None) if cells.dt.tz is not None else cells


def _text(name: str, cells: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(cells):
        raise UserError(f"column {name}: a category in gold, a time here.")
    return cells.map(lambda v: v.strip() if isinstance(v, str) else str(v), na_action="ignore")


def _object(name: str, text: pd.Series) -> pd.DataFrame:
    return pd.DataFrame({name: text.astype(object).where(text.notna(), None)})


def _example(times: pd.Series) -> str:
    """One time of gold with hours in it, if any has them."""
    times = _times("", times, None)
    with_hours = times[times != times.dt.normalize()]
    return str((with_hours if len(with_hours) else times).iloc[0].isoformat())
