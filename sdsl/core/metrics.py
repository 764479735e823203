"""R -> numbers. R[i, j] = accuracy on Q_j after step i; row 0 is the model that saw gold only.

R is [T + 1, T]; cells that were not evaluated (eval.every, eval.columns) are NaN and left out of
every mean; `coverage` says what share was.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from sdsl.core.thin import Thin


@dataclass(frozen=True)
class Metrics:
    """One run in numbers."""

    acc_online: float  # the paper's Acc_t = mean_i R[i, i]
    acc_final: float  # the paper's Acc_T = mean_j R[T, j]
    forgetting: float  # mean_{j<T} (R[j, j] - R[T, j])
    forgetting_max: float  # mean_{j<T} (max_{j<=i<=T} R[i, j] - R[T, j])   (Chaudhry 2018)
    bwt: float  # mean_{j<T} (R[T, j] - R[j, j])            (Lopez-Paz 2017)
    fwt: float  # mean_{j>1} (R[j-1, j] - R[0, j]): gain before seeing j over gold alone
    prequential: float  # mean_j R[j-1, j]: tested before it is learnt
    coverage: float  # share of the T x T cells that were evaluated

    def as_dict(self) -> dict[str, float]:
        return {k: v for k, v in asdict(self).items() if not np.isnan(v)}


@dataclass(frozen=True)
class Parts:
    """What the metrics ask of R, dense or thinned; each [T]."""

    first: np.ndarray  # R[0, j]
    last: np.ndarray  # R[T, j]
    diagonal: np.ndarray  # R[j, j]
    before: np.ndarray  # R[j-1, j]
    peak: np.ndarray  # max_{j<=i<=T} R[i, j]
    past: np.ndarray  # the mean of R[t, 1] to R[t, t]
    coverage: float

    @classmethod
    def of(cls, R: np.ndarray | Thin) -> "Parts":
        if isinstance(R, Thin):
            return _thin_parts(R)
        first, R = R[0], R[1:]
        before = np.concatenate([first[:1], np.diagonal(R, 1)])
        peak = np.array([_mean_or_max(R[j:, j], np.nanmax) for j in range(len(R))])
        share = float(np.isfinite(R).mean())
        return cls(first, R[-1], np.diagonal(R), before, peak, past_mean(R), share)


def _thin_parts(R: Thin) -> Parts:
    """Of one replica, row by row."""
    T = R.shape[2]
    last, filled = R.known(T)[0], 0
    peak, past = R.diagonal[0].copy(), R.diagonal[0].copy()
    full = set(R.rows.tolist()) | {T}
    for t in range(1, T + 1):
        if t not in full:
            filled += 1 + (t < T)
            continue
        row = R.known(t)[0]
        filled += int(np.isfinite(row).sum())
        past[t - 1] = _mean(row[:t])
        peak[:t] = np.fmax(peak[:t], row[:t])
    ends = R.known(0)[0], last, R.diagonal[0], R.above[0]
    return Parts(*ends, peak, past, filled / T**2)


def summarise(R: np.ndarray | Thin) -> Metrics:
    """The metrics of R [T + 1, T], row 0 being the model after gold."""
    p = Parts.of(R)
    return Metrics(
        acc_online=_mean(p.diagonal),
        acc_final=_mean(p.last),
        forgetting=_mean((p.diagonal - p.last)[:-1]),
        forgetting_max=_mean((p.peak - p.last)[:-1]),
        bwt=_mean((p.last - p.diagonal)[:-1]),
        fwt=_mean((p.before - p.first)[1:]),
        prequential=_mean(p.before),
        coverage=p.coverage,
    )


def summarise_context(R_context: np.ndarray | Thin) -> dict[str, float]:
    """Acc_t and Acc_T where each test part was predicted as one batch; never mixed with R's."""
    whole = summarise(R_context)
    return {"acc_online_context": whole.acc_online, "acc_final_context": whole.acc_final}


def online(R: np.ndarray) -> np.ndarray:
    """R[t, t] against t: R [..., T, T] -> [..., T]. The row of the model after gold is left out."""
    return np.diagonal(R, axis1=-2, axis2=-1).copy()


def online_mean(R: np.ndarray) -> np.ndarray:
    """The mean of R[1, 1] to R[t, t] against t: R [..., T, T] -> [..., T]."""
    return np.cumsum(online(R), axis=-1) / np.arange(1, R.shape[-1] + 1)


def past_mean(R: np.ndarray) -> np.ndarray:
    """The mean of R[t, 1] to R[t, t] against t: R [..., T, T] -> [..., T]."""
    seen = [R[..., t, : t + 1] for t in range(R.shape[-2])]  # row t: [..., t + 1]
    totals = np.stack([np.nansum(row, axis=-1) for row in seen], axis=-1)
    counts = np.stack([np.isfinite(row).sum(axis=-1) for row in seen], axis=-1)
    return np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0)


def final(R: np.ndarray) -> np.ndarray:
    """R[T, j] against j: R [..., T, T] -> [..., T]."""
    return R[..., -1, :].copy()


def curves(R: np.ndarray | Thin) -> dict[str, np.ndarray]:
    """The step curves of R [T + 1, T], each of length T; step t is index t - 1."""
    p = Parts.of(R)
    return {
        "online": p.diagonal.copy(),
        "online_mean": np.cumsum(p.diagonal) / np.arange(1, len(p.diagonal) + 1),
        "past_mean": p.past,
        "final": p.last.copy(),
        "prequential": p.before,
        "gold_only": p.first.copy(),  # R[0, j]
    }


def best_relabelling(K: np.ndarray) -> tuple[float, bool]:
    """(accuracy under the best renaming of the predicted classes, whether it renames any).

    K [C, C]: confusion counts, see core/confusion.py.
    """
    rows, columns = linear_sum_assignment(-K)
    best, plain = K[rows, columns].sum(), np.trace(K)
    return best / max(1, K.sum()), bool(best > plain)


def lasting_swap(accuracy: np.ndarray, relabelled: np.ndarray, gap: float = 0.25) -> int:
    """Longest run of consecutive steps at which renaming classes would gain more than `gap`."""
    longest = run = 0
    for swapped in (relabelled - accuracy) > gap:
        run = run + 1 if swapped else 0
        longest = max(longest, run)
    return longest


def _mean(values: np.ndarray) -> float:
    return _mean_or_max(values, np.nanmean)


def _mean_or_max(values: np.ndarray, f: Callable[[np.ndarray], float]) -> float:
    return float(f(values)) if np.isfinite(values).any() else float("nan")
