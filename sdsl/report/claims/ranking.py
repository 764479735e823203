"""Which method to use: mean ranks over streams with a bootstrap interval, the best first."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sdsl.report.claims import statistics
from sdsl.report.runs.names import DATASETS, READ_LABELS, datasets_in_order, methods_in_order
from sdsl.report.runs.results import Results

EQUAL = 0.005  # a lead of less than this is not worth a word


@dataclass(frozen=True)
class Lead:
    """A stream on which another method is ahead of the recommended one."""

    stream: str
    other: str
    others_mean: float
    mean: float


@dataclass(frozen=True)
class Ranking:
    """Methods that read no labels, by mean rank over the streams on which all of them ran."""

    metric: str
    streams: list[str]
    # index: method, the best first; rank, low, high, first (share of draws), ahead (of the best)
    table: pd.DataFrame
    means: pd.DataFrame  # [streams, methods]

    @property
    def best(self) -> str:
        return str(self.table.index[0])

    @property
    def alike(self) -> list[str]:
        """Methods that the best is not told apart from: ahead of it in at least 2.5 % of draws."""
        rivals = self.table.index[1:][self.table.ahead.to_numpy()[1:] >= (1 - statistics.LEVEL) / 2]
        return list(rivals)

    @property
    def worst(self) -> tuple[str, float]:
        """The stream on which the best method has its lowest mean, and that mean."""
        own = self.means[self.best]
        return str(own.idxmin()), float(own.min())

    @property
    def exceptions(self) -> list[Lead]:
        """Streams on which another method leads by EQUAL or more."""
        found = []
        for stream, row in self.means.iterrows():
            if row.max() - row[self.best] >= EQUAL:
                found.append(Lead(str(stream), row.idxmax(), row.max(), row[self.best]))
        return found


def ranking(results: Results, metric: str) -> Ranking | None:
    """None for fewer than two methods."""
    ran = results.streams()
    streams = datasets_in_order([s for s in ran if s in DATASETS] or ran)
    scores: dict[str, dict[str, np.ndarray]] = {stream: {} for stream in streams}
    for method in methods_in_order(results.variants() - set(READ_LABELS)):
        values = [results.scores(method, stream, metric).to_numpy() for stream in streams]
        if all(map(len, values)):
            for stream, own in zip(streams, values, strict=True):
                scores[stream][method] = own
    if not streams or len(scores[streams[0]]) < 2:
        return None
    means = pd.DataFrame({s: {m: v.mean() for m, v in scores[s].items()} for s in streams}).T
    ranks = statistics.mean_ranks(means).sort_values(kind="stable")
    draws = statistics.bootstrap_ranks(scores)[ranks.index]
    intervals = [statistics.interval(draws[method].to_numpy()) for method in draws]
    table = pd.DataFrame(
        {
            "rank": ranks,
            "low": [i.low for i in intervals],
            "high": [i.high for i in intervals],
            "first": draws.eq(draws.min(axis=1), axis=0).mean(),
            "ahead": draws.le(draws[ranks.index[0]], axis=0).mean(),
            "mean": means.mean()[ranks.index],
            "lowest": means.min()[ranks.index],
        }
    )
    return Ranking(metric, streams, table, means)
