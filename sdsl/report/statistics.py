"""Statistics for eight datasets and five seeds: t intervals, ranks, interquartile means."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from sdsl.report import names
from sdsl.report.runs import Runs

DRAWS = 2_000  # of the bootstrap of ranks and of interquartile means
TAIL = 0.025  # on each side of an interval
SEED = 2022  # of the bootstrap's own generator: the same runs always give the same interval
EQUAL = 0.005  # smaller leads are not mentioned


@dataclass(frozen=True)
class Estimate:
    """A mean of n values with its 95 % interval (NaN for a single value)."""

    mean: float
    low: float
    high: float
    n: int


def paired(a: pd.Series, b: pd.Series) -> Estimate | None:
    """a - b over the seeds that both have (a, b: seed -> value); None if there are none."""
    seeds = a.index.intersection(b.index)
    if not len(seeds):
        return None
    gaps = (a[seeds] - b[seeds]).to_numpy(float)
    return Estimate(float(gaps.mean()), *t_interval(gaps), len(gaps))


def t_interval(values: np.ndarray) -> tuple[float, float]:
    """Student's interval of the mean; NaN for fewer than two values.

    A percentile bootstrap of five values would cover the mean in 84 % of cases, not in 95 %.
    """
    n = len(values)
    if n < 2:
        return float("nan"), float("nan")
    # Rounding keeps equal differences equal: (.9 - .8) and (.8 - .7) differ in the last bit.
    reach = stats.t.ppf(1 - TAIL, n - 1) * np.round(values, 12).std(ddof=1) / np.sqrt(n)
    return float(values.mean() - reach), float(values.mean() + reach)


def interval(values: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of redrawn values."""
    low, high = np.quantile(values, [TAIL, 1 - TAIL])
    return float(low), float(high)


def interquartile_mean(scores: Mapping[str, np.ndarray]) -> Estimate:
    """Mean of the middle half of all runs of all datasets; seeds are redrawn within a dataset.

    Agarwal et al., Deep RL at the edge of the statistical precipice, NeurIPS 2021.
    """
    rng = np.random.default_rng(SEED)
    redrawn = [v[rng.integers(len(v), size=(DRAWS, len(v)))] for v in scores.values()]
    means = stats.trim_mean(np.concatenate(redrawn, axis=1), 0.25, axis=1)
    pooled = np.concatenate(list(scores.values()))
    return Estimate(float(stats.trim_mean(pooled, 0.25)), *interval(means), len(pooled))


def mean_ranks(means: pd.DataFrame) -> pd.Series:
    """means [datasets, methods] -> mean rank by method. 1 is the best; ties share a rank."""
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
            values[rng.integers(len(values), size=(DRAWS, len(values)))].mean(1)
            for values in by_method.values()
        ]
        ranks.append(stats.rankdata(-np.round(redrawn, 12), axis=0).T)  # equal stays equal
    drawn = rng.integers(len(scores), size=(DRAWS, len(scores)))
    picked = np.stack(ranks)[drawn, np.arange(DRAWS)[:, None]]  # [draws, datasets, m]
    return pd.DataFrame(picked.mean(1), columns=methods)


def differences(runs: Runs, metric: str, method: str = "ours") -> pd.DataFrame:
    """`method` minus every other method, per dataset, over the seeds they share."""
    rows = []
    for stream in runs.streams:
        scores = runs.scores(method, stream, metric)
        for other in names.methods_in_order(runs.variants - {method, names.STATIC_BOUND}):
            if gap := paired(scores, runs.scores(other, stream, metric)):
                rows.append((stream, other, gap.mean, gap.low, gap.high, gap.n))
    heads = ["dataset", "method", "difference", "low", "high", "n"]
    return pd.DataFrame(rows, columns=heads)


@dataclass(frozen=True)
class Ranking:
    """Methods that read no labels, by mean rank over the streams on which all of them ran."""

    metric: str
    streams: list[str]
    # Index: method, the best first. Columns: rank, low, high, first (share of draws in which it
    # is), ahead (share in which it is level with or ahead of the best), mean, lowest, iqm, ...
    table: pd.DataFrame
    means: pd.DataFrame  # [streams, methods]

    @property
    def best(self) -> str:
        return str(self.table.index[0])

    @property
    def alike(self) -> list[str]:
        """Methods that are not told apart from the best: ahead of it in at least 2.5 % of draws."""
        return [m for m, share in self.table.ahead.iloc[1:].items() if share >= TAIL]

    @property
    def leads(self) -> list[tuple[str, str, float, float]]:
        """(stream, method, its mean, that of the best) where a method leads by EQUAL or more."""
        return [
            (str(stream), str(row.idxmax()), row.max(), row[self.best])
            for stream, row in self.means.iterrows()
            if row.max() - row[self.best] >= EQUAL
        ]


def ranking(runs: Runs, metric: str) -> Ranking | None:
    """None for fewer than two methods. Where one of the paper's streams ran, only these count."""
    streams = runs.main_streams
    blind = names.without_labels(runs.variants)
    found = {m: {s: runs.scores(m, s, metric).to_numpy() for s in streams} for m in blind}
    ran = {m: own for m, own in found.items() if all(map(len, own.values()))}
    if not streams or len(ran) < 2:
        return None
    scores = {s: {m: own[s] for m, own in ran.items()} for s in streams}
    means = pd.DataFrame({s: {m: v.mean() for m, v in scores[s].items()} for s in streams}).T
    ranks = mean_ranks(means).sort_values(kind="stable")
    draws = bootstrap_ranks(scores)[ranks.index]
    pooled = [interquartile_mean(ran[method]) for method in ranks.index]
    table = pd.DataFrame(
        {
            "rank": ranks,
            "low": draws.quantile(TAIL),
            "high": draws.quantile(1 - TAIL),
            "first": draws.eq(draws.min(axis=1), axis=0).mean(),
            "ahead": draws.le(draws[ranks.index[0]], axis=0).mean(),
            "mean": means.mean()[ranks.index],
            "lowest": means.min()[ranks.index],
            "iqm": [one.mean for one in pooled],
            "iqm_low": [one.low for one in pooled],
            "iqm_high": [one.high for one in pooled],
            "runs": [one.n for one in pooled],
        }
    )
    return Ranking(metric, streams, table.rename_axis("method"), means)
