"""Confusion counts K[c, k]: test rows of class c that were predicted as k; and what follows.

recall_c = K[c, c] / sum_k K[c, k];  balanced accuracy = mean_c recall_c;
F1_c = 2 K[c, c] / (rows of c + rows said to be c);  macro F1 = mean_c F1_c.
"""

from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor


def counted(said: Tensor, truth: Tensor, classes: int) -> Tensor:
    """K of labels [..., n]: [..., C, C] int64."""
    cell = truth * classes + said
    K = torch.zeros(*cell.shape[:-1], classes**2, dtype=torch.int64)
    return K.scatter_add_(-1, cell, torch.ones_like(cell)).unflatten(-1, (classes, classes))


def recall(K: np.ndarray) -> np.ndarray:
    """[..., C, C] to [..., C]; NaN for a class without rows."""
    return _share(_right(K), K.sum(-1))


def balanced_accuracy(K: np.ndarray) -> np.ndarray:
    """[..., C, C] to [...]: the mean recall of the classes that have rows."""
    return _mean(recall(K))


def macro_f1(K: np.ndarray) -> np.ndarray:
    """[..., C, C] to [...]: the mean F1 of the classes that have rows or are predicted."""
    return _mean(_share(2 * _right(K), K.sum(-1) + K.sum(-2)))


@dataclass(frozen=True)
class ClassMetrics:
    """One run in numbers that weigh every class the same."""

    balanced_acc_online: float  # of Q_1 to Q_T together, each predicted by the model of its step
    macro_f1_online: float
    balanced_acc_final: float  # of Q_1 to Q_T together, predicted by the model after step T
    macro_f1_final: float
    class_imbalance: float  # rows of the largest class over rows of the smallest, in Q_1 to Q_T

    def as_dict(self) -> dict[str, float]:
        return {k: v for k, v in asdict(self).items() if np.isfinite(v)}


def summarise(steps: np.ndarray, last: np.ndarray) -> ClassMetrics:
    """steps [T, C, C]: K of Q_t after step t; last [T, C, C]: K of every Q_j after step T."""
    online, final = steps.sum(0), last.sum(0)
    rows = online.sum(1)
    rows = rows[rows > 0]
    return ClassMetrics(
        balanced_acc_online=float(balanced_accuracy(online)),
        macro_f1_online=float(macro_f1(online)),
        balanced_acc_final=float(balanced_accuracy(final)),
        macro_f1_final=float(macro_f1(final)),
        class_imbalance=float(rows.max() / rows.min()),
    )


def _right(K: np.ndarray) -> np.ndarray:
    return np.diagonal(K, axis1=-2, axis2=-1)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)


def _mean(values: np.ndarray) -> np.ndarray:
    """Over the last axis, without NaN; NaN where nothing is left."""
    known = np.isfinite(values)
    return _share(np.where(known, values, 0).sum(-1), known.sum(-1))
