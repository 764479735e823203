"""What the clusters of memory say of rows: p_mem(x, c), and p_mem(x, c | u) at times u.

log w_k(u) N(x; m_k + b_k (u - tau_k), R_k) needs two products of rows and clusters, whatever the
number of times: with g = x - m_k and h = u - tau_k its square is g'g/R - 2 h g'b/R + h^2 b'b/R.
"""

from torch import Tensor

from sdsl.algorithms.gaussians import LOG_2PI
from sdsl.algorithms.memory import WITHIN, Clusters


def overall(c: Clusters, Z: Tensor) -> Tensor:
    """log n_k/n N(z; m_k, diag(R_k) + s_k s_k'/v_k), all times together: [n, K]."""
    far, along, pull = products(c, Z)  # the motion's covariance is v b b', of rank one
    stretch = 1 + c.v * pull
    far = far - c.v * along.square() / stretch
    log_det = c.rest.log().sum(1) + stretch.log()
    return (c.n / c.n.sum()).log() - 0.5 * (far + log_det + Z.shape[1] * LOG_2PI)


def products(c: Clusters, Z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """g'g/R [n, K], g'b/R [n, K] and b'b/R [K] of gaps g = z - m_k and slopes b_k."""
    inverse, slope = 1 / c.rest, c.slope
    towards = slope * inverse
    far = Z.square() @ inverse.mT - 2 * Z @ (c.m * inverse).mT + (c.m.square() * inverse).sum(1)
    along = Z @ towards.mT - (c.m * towards).sum(1)
    return far.clamp(min=0), along, (slope * towards).sum(1)


def shares(c: Clusters, times: Tensor) -> Tensor:
    """log w_k(u), a distribution over clusters at every time u: [U, K]."""
    spread = c.v + WITHIN
    near = (times[:, None] - c.tau).square() / spread + spread.log()
    return (c.n.log() - 0.5 * near).log_softmax(1)


def at_times(c: Clusters, Z: Tensor, times: Tensor) -> Tensor:
    """log w_k(u) N(z; m_k(u), R_k): [U, n, K]."""
    far, along, pull = products(c, Z)
    h = times[:, None] - c.tau  # [U, K]
    log_det = c.rest.log().sum(1)
    level = shares(c, times) - 0.5 * (h.square() * pull + log_det + Z.shape[1] * LOG_2PI)
    return level[:, None] + h[:, None] * along - 0.5 * far
