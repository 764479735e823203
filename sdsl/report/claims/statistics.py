"""What eight datasets and five seeds can carry: paired intervals, interquartile means, ranks."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 2022  # the bootstrap's own generator: the same runs give the same interval, always


@dataclass(frozen=True)
class Difference:
    """Mean of a - b over the seeds both have, with a percentile bootstrap interval."""

    mean: float
    low: float
    high: float
    n: int

    def above_zero(self) -> bool:
        return self.low > 0


def paired(a: pd.Series, b: pd.Series) -> Difference | None:
    """a and b: seed -> value. None without a common seed; one seed gives no interval."""
    seeds = a.index.intersection(b.index)
    if not len(seeds):
        return None
    gaps = (a[seeds] - b[seeds]).to_numpy(float)
    low, high = bootstrap(gaps)
    return Difference(float(gaps.mean()), low, high, len(gaps))


def bootstrap(values: np.ndarray) -> tuple[float, float]:
    """Percentile interval of the mean; (nan, nan) for fewer than two values."""
    if len(values) < 2:
        return float("nan"), float("nan")
    draws = np.random.default_rng(SEED).integers(len(values), size=(RESAMPLES, len(values)))
    # Rounding keeps equal differences equal: (.9 - .8) and (.8 - .7) differ in the last bit.
    means = np.round(values[draws].mean(1), 12)
    return _interval(means)


def interquartile_mean(scores: Mapping[str, np.ndarray]) -> Difference:
    """Mean of the middle half of all runs of all datasets; seeds are redrawn within a dataset.

    Agarwal et al., Deep RL at the edge of the statistical precipice, NeurIPS 2021.
    """
    rng = np.random.default_rng(SEED)
    parts = [
        values[rng.integers(len(values), size=(2000, len(values)))] for values in scores.values()
    ]
    redrawn = np.concatenate(parts, axis=1)  # [draws, runs]
    pooled = np.concatenate(list(scores.values()))
    middle = stats.trim_mean(redrawn, 0.25, axis=1)
    return Difference(float(stats.trim_mean(pooled, 0.25)), *_interval(middle), len(pooled))


def mean_ranks(means: pd.DataFrame) -> pd.Series:
    """means: a row a dataset, a column a method. Rank 1 is the best; ties share theirs."""
    return means.rank(axis=1, ascending=False).mean()


@functools.cache
def critical_difference(methods: int, datasets: int) -> float:
    """Nemenyi: mean ranks closer than this are not told apart at .05 (Demsar 2006)."""
    q = stats.studentized_range.ppf(LEVEL, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * datasets)))


def friedman(means: pd.DataFrame) -> float:
    """p of 'all methods rank alike'; NaN below three methods or two datasets."""
    if means.shape[1] < 3 or means.shape[0] < 2:
        return float("nan")
    return float(stats.friedmanchisquare(*(means[m] for m in means)).pvalue)


def power_note(methods: int, datasets: int) -> str:
    distance, widest = critical_difference(methods, datasets), methods - 1
    return (
        f"{datasets} datasets, {methods} methods: the Nemenyi distance is {distance:.2f} ranks, "
        f"and mean ranks span at most {widest}. Two methods that differ by less are not told "
        "apart, which does not mean that they are alike."
    )


def _interval(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
