"""R and confusion counts -> numbers.

R[i, j] = accuracy on Q_j after step i; row 0 is the model that saw gold only, so R is [T + 1, T].
Cells that were not evaluated (eval.every) are NaN and left out of every mean.

K[c, k] counts test rows of class c that were predicted as k. recall_c = K[c, c] / sum_k K[c, k];
balanced accuracy = mean_c recall_c; F1_c = 2 K[c, c] / (rows of c + rows predicted as c);
macro F1 = mean_c F1_c.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

STEPS = 50  # of the probability that a label is right, from 0 to 1


@dataclass(frozen=True)
class Metrics:
    """One run in numbers, from R."""

    acc_online: float  # the paper's Acc_t = mean_i R[i, i]
    acc_final: float  # the paper's Acc_T = mean_j R[T, j]
    forgetting: float  # mean_{j<T} (max_{j<=i<=T} R[i, j] - R[T, j])   (Chaudhry 2018)
    bwt: float  # mean_{j<T} (R[T, j] - R[j, j])            (Lopez-Paz 2017)
    fwt: float  # mean_{j>1} (R[j-1, j] - R[0, j]): gain before seeing j over gold alone
    prequential: float  # mean_j R[j-1, j]: tested before it is learnt

    def as_dict(self) -> dict[str, float]:
        return {k: v for k, v in asdict(self).items() if not np.isnan(v)}


@dataclass(frozen=True)
class ClassMetrics:
    """One run in numbers that weigh every class the same, from confusion counts."""

    balanced_acc_online: float  # of Q_1 to Q_T together, each predicted by the model of its step
    macro_f1_online: float
    balanced_acc_final: float  # of Q_1 to Q_T together, predicted by the model after step T
    macro_f1_final: float
    class_imbalance: float  # rows of the largest class over rows of the smallest, in Q_1 to Q_T
    majority: float  # max_c mean_j (share of class c in Q_j): Acc_T of the best constant answer

    def as_dict(self) -> dict[str, float]:
        return {k: v for k, v in asdict(self).items() if np.isfinite(v)}


def summarise(R: np.ndarray) -> Metrics:
    """The metrics of R [T + 1, T]."""
    now, last, before = np.diagonal(R[1:]), R[-1], np.diagonal(R)
    peak = np.array([np.nanmax(R[j + 1 :, j]) for j in range(R.shape[1])])
    return Metrics(
        acc_online=_mean(now),
        acc_final=_mean(last),
        forgetting=_mean((peak - last)[:-1]),
        bwt=_mean((last - now)[:-1]),
        fwt=_mean((before - R[0])[1:]),
        prequential=_mean(before),
    )


def curves(R: np.ndarray) -> dict[str, np.ndarray]:
    """The step curves of R [T + 1, T], each of length T; step t is index t - 1."""
    now = np.diagonal(R[1:]).copy()
    return {
        "online": now,  # R[t, t]
        "online_mean": np.cumsum(now) / np.arange(1, len(now) + 1),
        "past_mean": np.array([_mean(R[t, :t]) for t in range(1, len(R))]),  # of R[t, 1..t]
        "final": R[-1].copy(),  # R[T, j]
        "prequential": np.diagonal(R).copy(),  # R[t-1, t]
        "gold_only": R[0].copy(),  # R[0, j]
    }


def confusion(
    predicted: np.ndarray, truth: np.ndarray, classes: int, sizes: np.ndarray | None = None
) -> np.ndarray:
    """K [C, C] of labels [n]; [parts, C, C] of parts with these `sizes`, one after the other."""
    part = 0 if sizes is None else np.repeat(np.arange(len(sizes)), sizes)
    shape = (classes, classes) if sizes is None else (len(sizes), classes, classes)
    cell = (part * classes + truth) * classes + predicted
    return np.bincount(cell, minlength=math.prod(shape)).reshape(shape)


def recall(K: np.ndarray) -> np.ndarray:
    """[..., C, C] to [..., C]; NaN for a class without rows."""
    return _share(np.diagonal(K, axis1=-2, axis2=-1), K.sum(-1))


def balanced_accuracy(K: np.ndarray) -> float:
    """The mean recall of the classes that have rows, from K [C, C]."""
    return _mean(recall(K))


def macro_f1(K: np.ndarray) -> float:
    """The mean F1 of the classes that have rows or are predicted, from K [C, C]."""
    return _mean(_share(2 * np.diagonal(K), K.sum(1) + K.sum(0)))


def summarise_classes(steps: np.ndarray, last: np.ndarray) -> ClassMetrics:
    """steps [T, C, C]: K of Q_t after step t; last [T, C, C]: K of every Q_j after step T."""
    online, final = steps.sum(0), last.sum(0)
    shares = _share(steps.sum(2), steps.sum((1, 2))[:, None])  # [T, C]
    rows = online.sum(1)
    rows = rows[rows > 0]
    return ClassMetrics(
        balanced_acc_online=balanced_accuracy(online),
        macro_f1_online=macro_f1(online),
        balanced_acc_final=balanced_accuracy(final),
        macro_f1_final=macro_f1(final),
        class_imbalance=float(rows.max() / rows.min()),
        majority=float(shares.mean(0).max()),
    )


def reliability(said: np.ndarray, right: np.ndarray) -> np.ndarray:
    """[STEPS, 3]: rows, sum said and sum right of labels [n], by the probability that is said."""
    at = np.minimum((said * STEPS).astype(int), STEPS - 1)
    sums = [np.bincount(at, weights, STEPS) for weights in (np.ones(len(said)), said, right)]
    return np.stack(sums, axis=1)


def calibration_error(table: np.ndarray) -> float:
    """ECE = sum_b |said_b - right_b| / rows over ten steps b, from `reliability`."""
    ten = table.reshape(10, -1, 3).sum(1)
    return float(np.abs(ten[:, 1] - ten[:, 2]).sum() / ten[:, 0].sum())


def accuracy_at(table: np.ndarray, coverage: np.ndarray) -> np.ndarray:
    """The accuracy of the surest rows, these shares of all; within a step rows are alike."""
    rows, _, right = np.r_[np.zeros((1, 3)), table[::-1].cumsum(0)].T
    kept = coverage * rows[-1]
    return np.interp(kept, rows, right) / kept


def best_relabelling(K: np.ndarray) -> float:
    """Accuracy under the best renaming of the predicted classes, from counts K [C, C]."""
    return float(K[linear_sum_assignment(-K)].sum() / max(1, K.sum()))


def swap_steps(accuracy: np.ndarray, relabelled: np.ndarray, gap: float = 0.25) -> int:
    """Longest run of consecutive steps at which renaming classes would gain more than `gap`."""
    longest = run = 0
    for swapped in (relabelled - accuracy) > gap:
        run = run + 1 if swapped else 0
        longest = max(longest, run)
    return longest


def is_lasting(steps: int, T: int) -> bool:
    """Whether a swap lasted: a tenth of the stream, three steps at least."""
    return steps >= max(3, T // 10)


def _mean(values: np.ndarray) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
