"""argmax_c λ p_t(x, c) + (1 − λ) mean_{s ≤ t} p_s(x, c): the present against the past, by λ.

p_s is a model of segment s with its true labels. λ = 1 follows the stream, λ = 0 remembers all.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from sdsl.core.stream import Stream
from sdsl.report.tradeoff import densities

WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.97, 1.0)  # λ
SCORES = ["acc_online", "acc_final"]


def measure(stream: Stream) -> pd.DataFrame:
    """Acc_t and Acc_T of every kind of model and weight, mean over the stream's seeds."""
    per_seed = [pd.DataFrame(_of_seed(stream, s)) for s in range(len(stream.seeds))]
    table = pd.concat(per_seed).groupby(["model", "weight"], as_index=False)[SCORES].mean()
    return table.assign(front=on_front(table), seeds=len(stream.seeds))


def on_front(points: pd.DataFrame) -> pd.Series:
    """Whether no other point is better in one score and as good in the other."""
    online, final = (points[score].to_numpy() for score in SCORES)
    no_worse = (online[:, None] >= online) & (final[:, None] >= final)
    better = (online[:, None] > online) | (final[:, None] > final)
    return pd.Series(~(no_worse & better).any(0), points.index)


def _of_seed(stream: Stream, s: int) -> Iterator[dict[str, object]]:
    rows = [stream.segment(t)[s].numpy().astype(float) for t in range(1, stream.T + 1)]
    labels = [stream.truth(t)[s].numpy() for t in range(1, stream.T + 1)]
    tests, truth = (part[s].numpy() for part in stream.tests())  # [T, q, d], [T, q]
    pooled = np.concatenate(rows)
    centre, spread = pooled.mean(0), pooled.std(0)
    spread[spread == 0] = 1
    rows = [(x - centre) / spread for x in rows]
    flat = ((tests - centre) / spread).reshape(-1, stream.d)  # [T q, d]
    fewest = densities.fewest(iter(labels))
    for name, fit in densities.families(len(pooled), stream.d, fewest).items():
        L = np.empty((stream.T, stream.C, *truth.shape), np.float32)  # [segments, C, T, q]
        for t, (X, y) in enumerate(zip(rows, labels, strict=True)):
            L[t] = densities.joint(fit, X, y, stream.C)(flat).reshape(L.shape[1:])
        for weight, online, final in scores(L, truth, WEIGHTS):
            row = {"model": name, "weight": weight, "acc_online": online, "acc_final": final}
            yield row


def scores(
    L: np.ndarray, truth: np.ndarray, weights: Sequence[float]
) -> Iterator[tuple[float, float, float]]:
    """(λ, Acc_t, Acc_T). L: log p_s(x, c) [segments, C, T, q] on the test parts, truth [T, q]."""
    T = len(L)
    # At step t only the segments up to t are known; the final model knows all.
    now = np.stack([L[t, :, t] for t in range(T)], axis=1)  # [C, T, q]
    past = np.stack([_mean(L[: t + 1, :, t]) for t in range(T)], axis=1)
    final_now, final_past = L[-1], _mean(L)
    for weight in weights:
        with np.errstate(divide="ignore"):
            a, b = np.log(weight), np.log(1 - weight)
        online = np.logaddexp(a + now, b + past).argmax(0)
        final = np.logaddexp(a + final_now, b + final_past).argmax(0)
        yield weight, float((online == truth).mean()), float((final == truth).mean())


def _mean(L: np.ndarray) -> np.ndarray:
    """log of the mean density over the first axis."""
    return logsumexp(L, axis=0) - np.log(len(L))
