"""Statistics for eight datasets and five seeds: paired intervals, interquartile means, ranks."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

DRAWS = 10_000  # of the bootstrap of a mean
DRAWS_OF_IQM = 2_000
DRAWS_OF_RANKS = 2_000
LEVEL = 0.95
SEED = 2022  # of the bootstrap's own generator: the same runs always give the same interval


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


NO_INTERVAL = Interval(float("nan"), float("nan"))


@dataclass(frozen=True)
class Estimate:
    """A mean of n values with its percentile bootstrap interval."""

    mean: float
    interval: Interval
    n: int


def paired(a: pd.Series, b: pd.Series) -> Estimate | None:
    """a - b over the seeds that both have (a, b: seed -> value); None if there are none."""
    seeds = a.index.intersection(b.index)
    if not len(seeds):
        return None
    gaps = (a[seeds] - b[seeds]).to_numpy(float)
    return Estimate(float(gaps.mean()), bootstrap(gaps), len(gaps))


def bootstrap(values: np.ndarray) -> Interval:
    """The percentile interval of the mean; NaN for fewer than two values."""
    if len(values) < 2:
        return NO_INTERVAL
    drawn = np.random.default_rng(SEED).integers(len(values), size=(DRAWS, len(values)))
    # Rounding keeps equal differences equal: (.9 - .8) and (.8 - .7) differ in the last bit.
    return interval(np.round(values[drawn].mean(1), 12))


def interquartile_mean(scores: Mapping[str, np.ndarray]) -> Estimate:
    """Mean of the middle half of all runs of all datasets; seeds are redrawn within a dataset.

    Agarwal et al., Deep RL at the edge of the statistical precipice, NeurIPS 2021.
    """
    rng = np.random.default_rng(SEED)
    redrawn = [
        values[rng.integers(len(values), size=(DRAWS_OF_IQM, len(values)))]
        for values in scores.values()
    ]
    runs = np.concatenate(redrawn, axis=1)  # [draws, runs]
    means = stats.trim_mean(runs, 0.25, axis=1)
    pooled = np.concatenate(list(scores.values()))
    return Estimate(float(stats.trim_mean(pooled, 0.25)), interval(means), len(pooled))


def mean_ranks(means: pd.DataFrame) -> pd.Series:
    """means: one row per dataset, one column per method. Rank 1 is the best; ties share a rank."""
    return means.rank(axis=1, ascending=False).mean()


def bootstrap_ranks(scores: Mapping[str, Mapping[str, np.ndarray]]) -> pd.DataFrame:
    """Mean ranks, [draws, methods]: datasets are redrawn, and seeds within each of them.

    scores: dataset -> method -> the values of its seeds. A single dataset is kept as it is.
    """
    rng = np.random.default_rng(SEED)
    methods = list(next(iter(scores.values())))
    ranks = []  # of the redrawn means, [draws, methods] per dataset
    for by_method in scores.values():
        redrawn = [
            values[rng.integers(len(values), size=(DRAWS_OF_RANKS, len(values)))].mean(1)
            for values in by_method.values()
        ]
        # As above: what is equal should stay equal.
        ranks.append(stats.rankdata(-np.round(redrawn, 12), axis=0).T)
    drawn = rng.integers(len(scores), size=(DRAWS_OF_RANKS, len(scores)))
    picked = np.stack(ranks)[
        drawn, np.arange(DRAWS_OF_RANKS)[:, None]
    ]  # [draws, datasets, methods]
    return pd.DataFrame(picked.mean(1), columns=methods)


@functools.cache
def critical_difference(methods: int, datasets: int) -> float:
    """Nemenyi: mean ranks closer than this cannot be told apart at .05 (Demsar 2006)."""
    q = stats.studentized_range.ppf(LEVEL, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * datasets)))


def friedman(means: pd.DataFrame) -> float:
    """p of 'all methods rank alike'; NaN for fewer than three methods or two datasets."""
    if means.shape[1] < 3 or means.shape[0] < 2:
        return float("nan")
    return float(stats.friedmanchisquare(*(means[m] for m in means)).pvalue)


def power_note(methods: int, datasets: int) -> str:
    """What mean ranks over so few datasets can show."""
    distance, widest = critical_difference(methods, datasets), methods - 1
    return (
        f"{datasets} datasets, {methods} methods: the Nemenyi distance is {distance:.2f} ranks, "
        f"and mean ranks span at most {widest}. Two methods that differ by less are not told "
        "apart, which does not mean that they are alike."
    )


def interval(values: np.ndarray) -> Interval:
    """The middle 95 % of redrawn values."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))
