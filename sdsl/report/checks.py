"""The kinds of test in claims.yaml, a function each: (runs, dataset, the claim's parameters)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdsl.report.names import method_name
from sdsl.report.runs import SHAPE, Runs
from sdsl.report.statistics import Estimate, paired

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
OUT_OF_REACH, NOT_JUDGED, NOT_RUN = "out of reach", "cannot be judged", "not run"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, OUT_OF_REACH, NOT_JUDGED, NOT_RUN)
SEEDS = 3  # fewer decide nothing
FEW_SEEDS = f"fewer than {SEEDS} seeds"
CHANCE = 0.1  # less above the accuracy of guessing is no accuracy that noise could take away
ROUNDING = 1e-9  # a difference of exactly the tolerance is within it
ONE_SIDED = "flatness_one_sided"  # the paper's noise, U[0, b]
SYMMETRIC = "flatness_symmetric"  # U[-b, b]
Given = Mapping[str, Any]


class NotRun(Exception):
    """The runs that a test needs are missing."""


class CannotBeJudged(Exception):
    """There are runs, but they cannot decide."""


@dataclass(frozen=True)
class Finding:
    """The outcome of a test."""

    verdict: str
    numbers: str  # behind the verdict
    undecided: bool = False  # the means are in the claimed order, but the interval includes 0


@dataclass(frozen=True)
class Gap(Estimate):
    """How much higher the first method is than the second, over the seeds that both have."""

    first: str
    second: str

    def __str__(self) -> str:
        numbers = f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}] (n={self.n})"
        return f"{method_name(self.first)} − {method_name(self.second)} {numbers}"


def cell(runs: Runs, dataset: str, given: Given) -> Finding:
    """The mean of `method` is the one that the paper prints."""
    mean, tolerance = given["mean"], max(2 * given["tolerance_std"], 0.02)
    values, bound = runs.scores(given["method"], dataset, given["metric"]), runs.reach(dataset)
    here = f"here {_spread(values)}" if len(values) else "no run here"
    at_end = bound == runs.trade_off(dataset)
    which = "end of the static trade-off curve" if at_end else "static bound"
    limit = f"{which} {bound:.3f}" if np.isfinite(bound) else "static bound not run"
    paper = f"paper {mean:.3f} ± {given['std']:.3f}, tolerance {tolerance:.3f}"
    numbers = f"{here}; {paper}, {limit}"
    if 0 < len(values) < SEEDS:
        raise CannotBeJudged(f"{numbers}; {FEW_SEEDS}")
    if len(values) and abs(values.mean() - mean) <= tolerance + ROUNDING:
        return Finding(REPRODUCED, numbers)
    if bound < mean - tolerance - ROUNDING:
        return Finding(OUT_OF_REACH, numbers)
    return Finding(NOT_REPRODUCED if len(values) else NOT_RUN, numbers)


def order(runs: Runs, dataset: str, given: Given) -> Finding:
    """Every method of `better` is above every method of `than`; below, if `lower`."""
    pairs = [(a, b) for a in given["better"] for b in given["than"]]
    gaps = _gaps(runs, dataset, given["metric"], pairs)
    lower, numbers = given.get("lower", False), "; ".join(map(str, gaps))
    if all(gap.high < 0 if lower else gap.low > 0 for gap in gaps):
        return Finding(REPRODUCED, numbers)
    ordered = all(gap.mean < 0 if lower else gap.mean > 0 for gap in gaps)
    return Finding(NOT_REPRODUCED, numbers, undecided=ordered)


def bound(runs: Runs, dataset: str, given: Given) -> Finding:
    """No method of `over` is above `method`, or no method of `under` below it."""
    over = given.get("over", [])
    pairs = [(other, given["method"]) for other in over or given["under"]]
    gaps = _gaps(runs, dataset, given["metric"], pairs)
    beyond = [gap for gap in gaps if (gap.low > 0 if over else gap.high < 0)]
    if beyond:
        return Finding(NOT_REPRODUCED, "; ".join(map(str, beyond)))
    closest = max(gaps, key=lambda gap: gap.mean if over else -gap.mean)
    return Finding(REPRODUCED, f"nearest: {closest}")


def near(runs: Runs, dataset: str, given: Given) -> Finding:
    """The mean of `method` is at most `within` from that of `target`, above or below."""
    (gap,) = _gaps(runs, dataset, given["metric"], [(given["method"], given["target"])])
    return _finding(abs(gap.mean) <= given["within"] + ROUNDING, str(gap))


def nearest(runs: Runs, dataset: str, given: Given) -> Finding:
    """Of all `among`, `method` has the mean nearest to that of `target`."""
    target, metric = given["target"], given["metric"]
    methods = [target, *given["among"]]
    scores = {m: runs.scores(m, dataset, metric) for m in methods}
    if missing := {m for m, values in scores.items() if values.empty}:
        raise NotRun(f"no run of {_names(missing)}")
    if any(len(values) < SEEDS for values in scores.values()):
        raise CannotBeJudged(FEW_SEEDS)
    means = {m: float(values.mean()) for m, values in scores.items()}
    nearest_first = sorted(given["among"], key=lambda m: abs(means[m] - means[target]))
    shown = [f"{method_name(m)} {means[m] - means[target]:+.3f}" for m in nearest_first[:3]]
    numbers = f"to {method_name(target)} ({means[target]:.3f}): {', '.join(shown)}"
    return _finding(nearest_first[0] == given["method"], numbers)


def shape(runs: Runs, dataset: str, given: Given) -> Finding:
    """The data that ran have the paper's `rows`, `features` and `classes`."""
    here = runs.frame[runs.frame.stream == dataset]
    logged = here[SHAPE].dropna().astype(int)
    if logged.empty:
        raise NotRun("the shape of the data was not logged" if len(here) else "no run")
    ran, paper = tuple(logged.iloc[0]), tuple(given[name] for name in SHAPE)
    shown = [
        f"{rows:,} x {features}, {classes} classes" for rows, features, classes in (ran, paper)
    ]
    return _finding(ran == paper, f"here {shown[0]}; paper {shown[1]}")


@dataclass(frozen=True)
class NoiseCurve:
    """Mean accuracy over seeds against the bound b of the noise; the first bound is 0."""

    bounds: np.ndarray  # [points]
    accuracy: np.ndarray  # [points]
    seeds: int

    @property
    def loss(self) -> np.ndarray:
        """Against no noise, [points]."""
        return np.round(self.accuracy[0] - self.accuracy, 12)

    def flat_range(self, loss: float) -> float:
        """The largest b up to which the loss is never more than `loss`."""
        beyond = np.flatnonzero(self.loss > loss)
        return float(self.bounds[beyond[0] - 1] if len(beyond) else self.bounds[-1])


def judged_curve(runs: Runs, method: str, dataset: str) -> NoiseCurve:
    """A noise curve that can decide: its network is better than guessing."""
    curve, classes = noise_curve(runs, method, dataset), runs.all_of(method, dataset).classes
    if curve is None:
        raise NotRun(f"no flatness probe of {method_name(method)}")
    if curve.seeds < SEEDS:
        raise CannotBeJudged(FEW_SEEDS)
    base, guessing = curve.accuracy[0], 1 / classes.astype(int).iloc[0]
    if base < guessing + CHANCE:
        name = method_name(method)
        raise CannotBeJudged(f"{name} without noise has {base:.3f}, guessing {guessing:.3f}")
    return curve


def noise_curve(runs: Runs, method: str, dataset: str) -> NoiseCurve | None:
    """Under the paper's noise; None if the probe was not run."""
    points = runs.curve(method, dataset, ONE_SIDED)
    for key in runs.all_of(method, dataset).group_key.unique():
        bounds = runs.configs.get(key, {}).get("probe", {}).get("bounds", [])
        if points.size and len(bounds) == points.shape[1]:
            return NoiseCurve(np.array(bounds), points.mean(0), len(points))
    return None


def flat(runs: Runs, dataset: str, given: Given) -> Finding:
    """Under noise up to the bound `upto` each of `methods` loses at most `loss`."""
    upto, most = given["upto"] + ROUNDING, given["loss"]
    return _under_noise(runs, dataset, given, lambda c: all(c.loss[c.bounds <= upto] <= most))


def drops(runs: Runs, dataset: str, given: Given) -> Finding:
    """At some bound above `after` each of `methods` loses more than `loss`."""
    after, most = given["after"] + ROUNDING, given["loss"]
    return _under_noise(runs, dataset, given, lambda c: any(c.loss[c.bounds > after] > most))


def widest(runs: Runs, dataset: str, given: Given) -> Finding:
    """The flat range of `method` is wider than that of each of `than`."""
    curves = {m: judged_curve(runs, m, dataset) for m in (given["method"], *given["than"])}
    widths = {m: curve.flat_range(given["loss"]) for m, curve in curves.items()}
    shown = ", ".join(f"{method_name(m)} [0, {width:g}]" for m, width in widths.items())
    wins = all(widths[given["method"]] > widths[other] for other in given["than"])
    return _finding(wins, f"flat ranges: {shown}")


CHECKS: Mapping[str, Callable[[Runs, str, Given], Finding]] = {
    check.__name__: check
    for check in (cell, order, bound, near, nearest, shape, flat, drops, widest)
}


def in_table_2(test: str, means: Mapping[str, float], given: Given) -> str:
    """Whether the means of the paper's own Table 2 agree with a claim: 'yes', 'no' or ''."""
    if test == "order" and {*given["better"], *given["than"]} <= set(means):
        holds = all(means[a] > means[b] for a in given["better"] for b in given["than"])
    elif test == "bound":
        limit = means[given["method"]]
        holds = all(means[m] <= limit for m in given.get("over", []))
        holds = holds and all(means[m] >= limit for m in given.get("under", []))
    elif test == "nearest":
        gaps = {m: abs(means[m] - means[given["target"]]) for m in given["among"]}
        holds = min(gaps, key=lambda m: gaps[m]) == given["method"]
    else:
        return ""
    return "yes" if holds else "no"


def _finding(holds: bool, numbers: str) -> Finding:
    return Finding(REPRODUCED if holds else NOT_REPRODUCED, numbers)


def _gaps(runs: Runs, dataset: str, metric: str, pairs: Sequence[tuple[str, str]]) -> list[Gap]:
    """The gap of each pair."""
    gaps, missing = [], set()
    for a, b in pairs:
        scores = {method: runs.scores(method, dataset, metric) for method in (a, b)}
        if found := paired(scores[a], scores[b]):
            gaps.append(Gap(**vars(found), first=a, second=b))
        else:
            missing |= {method for method, own in scores.items() if own.empty}
    if len(gaps) < len(pairs):
        raise NotRun(f"no run of {_names(missing)}" if missing else "no common seed")
    if any(gap.n < SEEDS for gap in gaps):
        raise CannotBeJudged(f"{'; '.join(map(str, gaps))}; {FEW_SEEDS}")
    return gaps


def _under_noise(
    runs: Runs, dataset: str, given: Given, holds: Callable[[NoiseCurve], bool]
) -> Finding:
    numbers, held = [], []
    for method in given["methods"]:
        curve = judged_curve(runs, method, dataset)
        points = zip(curve.bounds, curve.accuracy, strict=True)
        shown = ", ".join(f"{b:g}: {accuracy:.3f}" for b, accuracy in points)
        numbers.append(f"{method_name(method)} {shown}")
        held.append(holds(curve))
    return _finding(all(held), "; ".join(numbers))


def _names(methods: Iterable[str]) -> str:
    """'Ours, Record'"""
    return ", ".join(method_name(method) for method in sorted(methods))


def _spread(values: pd.Series) -> str:
    """mean ± std (n), with ddof=1; one run has no std."""
    std = f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{std} ({len(values)})"
