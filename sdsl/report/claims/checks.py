"""The kinds of test that compare scores or the shape of the data; claims.yaml explains each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from sdsl.report.claims.claim import (
    NOT_REPRODUCED,
    NOT_RUN,
    OUT_OF_REACH,
    REPRODUCED,
    Claim,
    Finding,
    ScoreClaim,
)
from sdsl.report.runs.names import method_name
from sdsl.report.runs.results import SHAPE_COLUMNS, Results

ROUNDING = 1e-9  # a difference of exactly the tolerance is within it
FEW_SEEDS = "two common seeds are needed for an interval"


@dataclass(frozen=True, kw_only=True)
class Cell(ScoreClaim):
    """The mean of a method is the one that the paper prints."""

    method: str
    mean: float
    std: float  # as printed
    tolerance_std: float  # the printed std, or what it is read as

    @property
    def tolerance(self) -> float:
        return max(2 * self.tolerance_std, 0.02)

    def check(self, results: Results) -> Finding:
        values = self.scores(results, self.method)
        bound = results.reach(self.dataset)
        here = f"here {_spread(values)}" if len(values) else "no run here"
        paper = f"paper {self.mean:.3f} ± {self.std:.3f}, tolerance {self.tolerance:.3f}"
        limit = f"static bound {bound:.3f}" if np.isfinite(bound) else "static bound not run"
        if bound > results.static_bound(self.dataset):
            limit = f"end of the static trade-off curve {bound:.3f}"
        numbers = f"{here}; {paper}, {limit}"
        if len(values) and abs(values.mean() - self.mean) <= self.tolerance + ROUNDING:
            return Finding(REPRODUCED, numbers)
        if bound < self.mean - self.tolerance - ROUNDING:
            return Finding(OUT_OF_REACH, numbers)
        return Finding(NOT_REPRODUCED if len(values) else NOT_RUN, numbers)


@dataclass(frozen=True, kw_only=True)
class Order(ScoreClaim):
    """Every method of `better` is above every method of `than`; below, if `lower`."""

    better: Sequence[str]
    than: Sequence[str]
    lower: bool = False

    def check(self, results: Results) -> Finding:
        gaps, missing = [], set()
        for a in self.better:
            for b in self.than:
                if gap := self.gap(results, a, b):
                    gaps.append(gap)
                else:
                    missing |= {a, b}
        if missing:
            return self.not_run(results, missing)
        numbers = "; ".join(map(str, gaps))
        estimates = [gap.estimate for gap in gaps]
        if any(estimate.n < 2 for estimate in estimates):
            return Finding(NOT_RUN, f"{numbers}; {FEW_SEEDS}")
        if self.lower:
            decided = all(estimate.interval.high < 0 for estimate in estimates)
            ordered = all(estimate.mean < 0 for estimate in estimates)
        else:
            decided = all(estimate.interval.low > 0 for estimate in estimates)
            ordered = all(estimate.mean > 0 for estimate in estimates)
        if decided:
            return Finding(REPRODUCED, numbers)
        return Finding(NOT_REPRODUCED, numbers, undecided=ordered)

    def holds_in_table_2(self, means: Mapping[str, float]) -> bool | None:
        if not {*self.better, *self.than} <= set(means):
            return None
        return all(means[a] > means[b] for a in self.better for b in self.than)


@dataclass(frozen=True, kw_only=True)
class Bound(ScoreClaim):
    """No method of `over` is above `method`, or no method of `under` below it."""

    method: str
    over: Sequence[str] = field(default_factory=list)
    under: Sequence[str] = field(default_factory=list)

    def check(self, results: Results) -> Finding:
        gaps, missing = [], set()
        for other in self.over or self.under:
            if gap := self.gap(results, other, self.method):
                gaps.append(gap)
            else:
                missing.add(other)
        if missing:
            return self.not_run(results, {*missing, self.method})
        if any(gap.estimate.n < 2 for gap in gaps):
            return Finding(NOT_RUN, FEW_SEEDS)
        if self.over:
            beyond = [gap for gap in gaps if gap.estimate.interval.low > 0]
            nearest = max(gaps, key=lambda gap: gap.estimate.mean)
        else:
            beyond = [gap for gap in gaps if gap.estimate.interval.high < 0]
            nearest = min(gaps, key=lambda gap: gap.estimate.mean)
        if beyond:
            return Finding(NOT_REPRODUCED, "; ".join(map(str, beyond)))
        return Finding(REPRODUCED, f"nearest: {nearest}")

    def holds_in_table_2(self, means: Mapping[str, float]) -> bool | None:
        bound = means[self.method]
        below = all(means[other] <= bound for other in self.over)
        return below and all(means[other] >= bound for other in self.under)


@dataclass(frozen=True, kw_only=True)
class Near(ScoreClaim):
    """The mean of `method` is at most `within` below that of `target`."""

    method: str
    target: str
    within: float

    def check(self, results: Results) -> Finding:
        gap = self.gap(results, self.method, self.target)
        if gap is None:
            return self.not_run(results, {self.method, self.target})
        near = gap.estimate.mean >= -self.within
        return Finding(REPRODUCED if near else NOT_REPRODUCED, str(gap))


@dataclass(frozen=True, kw_only=True)
class Nearest(ScoreClaim):
    """Of all `among`, `method` has the mean nearest to that of `target`."""

    method: str
    target: str
    among: Sequence[str]

    def check(self, results: Results) -> Finding:
        methods = [self.target, *self.among]
        means = {m: float(self.scores(results, m).mean()) for m in methods}
        if any(np.isnan(mean) for mean in means.values()):
            return self.not_run(results, methods)
        target = means[self.target]
        nearest_first = sorted(self.among, key=lambda m: abs(means[m] - target))
        shown = [f"{method_name(m)} {means[m] - target:+.3f}" for m in nearest_first[:3]]
        verdict = REPRODUCED if nearest_first[0] == self.method else NOT_REPRODUCED
        numbers = f"to {method_name(self.target)} ({target:.3f}): {', '.join(shown)}"
        return Finding(verdict, numbers)

    def holds_in_table_2(self, means: Mapping[str, float]) -> bool | None:
        target = means[self.target]
        return min(self.among, key=lambda m: abs(means[m] - target)) == self.method


@dataclass(frozen=True, kw_only=True)
class Shape(Claim):
    """The data that ran have the paper's rows, features and classes."""

    rows: int
    features: int
    classes: int

    def check(self, results: Results) -> Finding:
        runs = results.frame[results.frame.stream == self.dataset]
        logged = runs[SHAPE_COLUMNS].dropna().astype(int)
        if logged.empty:
            why = "the shape of the data was not logged" if len(runs) else "no run"
            return Finding(NOT_RUN, why)
        ran = logged.iloc[0]
        same = (ran.rows, ran.features, ran.classes) == (self.rows, self.features, self.classes)
        here = f"here {ran.rows:,} x {ran.features}, {ran.classes} classes"
        paper = f"paper {self.rows:,} x {self.features}, {self.classes} classes"
        return Finding(REPRODUCED if same else NOT_REPRODUCED, f"{here}; {paper}")


def _spread(values: pd.Series) -> str:
    """mean ± std (n), with ddof=1; one run has no std."""
    std = f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{std} ({len(values)})"
