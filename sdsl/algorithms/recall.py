"""What the clusters of memory say of rows: p_mem(x, c), and p_mem(x, c | u) at times u.

log w_k(u) N(x; m_k + b_k (u - tau_k), R_k) needs two products of rows and clusters, whatever the
number of times: with g = x - m_k and h = u - tau_k its square is g'g/R - 2 h g'b/R + h^2 b'b/R.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sdsl.algorithms.gaussians import LOG_2PI
from sdsl.algorithms.memory import WITHIN, Clusters
from sdsl.core.compiled import compiled


@dataclass(frozen=True)
class Recall:
    """Clusters made ready for many rows."""

    m: np.ndarray  # [K, d]
    inverse: np.ndarray  # [K, d] 1/R
    towards: np.ndarray  # [K, d] b/R
    pull: Tensor  # [K] b'b/R
    log_det: Tensor  # [K] of R

    @classmethod
    def of(cls, c: Clusters) -> "Recall":
        rest, slope = c.rest, c.slope
        towards = slope / rest
        known = (c.m.contiguous().numpy(), (1 / rest).numpy(), towards.numpy())
        return cls(*known, (slope * towards).sum(1), rest.log().sum(1))

    def products(self, Z: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """g'g/R and g'b/R of rows Z [n, d]: [K, n] each."""
        return products(Z.mT.contiguous().numpy(), self.m, self.inverse, self.towards)


@compiled
def products(
    Z: np.ndarray, m: np.ndarray, inverse: np.ndarray, towards: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """sum_j g_j^2 / R_j and sum_j g_j b_j / R_j, g = z - m_k, of rows Z [d, n]: [K, n] each."""
    (K, d), n = m.shape, Z.shape[1]
    far, along = np.zeros((K, n)), np.zeros((K, n))
    for k in range(K):
        for j in range(d):
            at, by, to = m[k, j], inverse[k, j], towards[k, j]
            for i in range(n):
                g = Z[j, i] - at
                far[k, i] += g * g * by
                along[k, i] += g * to
    return far, along


def overall(c: Clusters, Z: Tensor) -> Tensor:
    """log n_k/n N(z; m_k, diag(R_k) + s_k s_k'/v_k), all times together: [n, K]."""
    ready = Recall.of(c)
    stretch = 1 + c.v * ready.pull  # the motion's covariance is v b b', of rank one
    level = (c.n / c.n.sum()).log()
    level = level - 0.5 * (ready.log_det + stretch.log() + Z.shape[1] * LOG_2PI)
    far, along = ready.products(Z)
    stretched(far, along, level.numpy(), (c.v / stretch).numpy())
    return torch.from_numpy(far).mT


@compiled
def stretched(far: np.ndarray, along: np.ndarray, level: np.ndarray, ratio: np.ndarray) -> None:
    """far <- level - (far - ratio along^2) / 2."""
    for k in range(far.shape[0]):
        for i in range(far.shape[1]):
            far[k, i] = level[k] - 0.5 * (far[k, i] - ratio[k] * along[k, i] * along[k, i])


def shares(c: Clusters, times: Tensor) -> Tensor:
    """log w_k(u), a distribution over clusters at every time u: [U, K]."""
    spread = c.v + WITHIN
    near = (times[:, None] - c.tau).square() / spread + spread.log()
    return (c.n.log() - 0.5 * near).log_softmax(1)


def at_times(c: Clusters, Z: Tensor, times: Tensor) -> Tensor:
    """log w_k(u) N(z; m_k(u), R_k): [U, n, K]."""
    ready = Recall.of(c)
    far, along = (torch.from_numpy(a).mT for a in ready.products(Z))
    h = times[:, None] - c.tau  # [U, K]
    level = h.square() * ready.pull + ready.log_det + Z.shape[1] * LOG_2PI
    level = shares(c, times) - 0.5 * level
    return level[:, None] + h[:, None] * along - 0.5 * far
