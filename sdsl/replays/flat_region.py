"""Flat-region replay (paper Eqs. 9-11): Algorithm 2 whole, a min-max search projected on and off M.

Eq. 9, 10  xi <- xi + eta1 P_M grad L(theta + xi)                      the worst case nearby, in M
Eq. 11     theta <- theta - eta2 (I - P_M) grad L(theta + xi)          descent off M

L = CE(D + X_t, y_t). M is spanned, layer by layer, by what the previous model's layers see of the
lookback (of gold at t = 1); P_M = V^T V with V [rank, in + 1] orthonormal. xi starts from 0 at
every step of descent: Algorithm 2 as printed carries it on, and nothing bounds it there.
"""

from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.descent import sgd
from sdsl.core.draws import Batches
from sdsl.core.kernel import (
    NO_PULL,
    Array,
    Arrays,
    Buffers,
    Number,
    add,
    backward,
    buffers,
    compiled,
    copy,
    cross_entropy,
    cross_entropy_slope,
    gather,
    trace,
    zeros,
)
from sdsl.core.learner import Learner
from sdsl.core.network import affine, arrays
from sdsl.core.rows import Rows
from sdsl.core.settings import Count, Positive, Share, Weight, settings
from sdsl.core.training import Descent


@settings
class FlatRegion(Replay):
    fit: Descent  # Eq. 11: lr is eta2; momentum comes after projection, so its state stays off M
    eta1: Weight  # the paper's ascent step
    ascents: Positive
    energy: Share  # of the representations that M keeps
    cap: Share  # M takes at most this share of a layer's inputs
    rows: Count  # gold rows that M is built from besides the lookback
    origin: Literal["previous", "generation"]  # the parameters that replay starts from
    no_xi: bool
    no_proj: bool
    xi: Literal["fresh", "carried"]  # carried: from one step of descent to the next
    xi_norm: Literal["none", "sam"]  # sam: xi rescaled to length rho
    rho: Weight

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        M = self.subspace(step)
        if self.origin == "previous":
            learner.load(step.theta)
        sets, weights = self.sets(step, pseudo, learner)
        union, theta = Rows.cat(*sets), arrays(learner.theta)
        space = space_of(arrays(M), theta)
        rho = self.rho if self.xi_norm == "sam" else 0.0
        xi = self.no_xi, self.no_proj, self.xi == "carried"
        how = How(self.eta1, self.fit.lr, self.fit.momentum, self.ascents, rho, *xi)
        loss, rise, steps = 0.0, 0.0, 0
        for block in self.fit.blocks(lambda: learner.loss(union)):
            batches = Batches(sets, weights, len(block), self.fit.batch, step.draws)
            index, *rows = arrays([batches.index, batches.X, batches.y, batches.w])
            at = buffers(theta, batches.shape[0])
            loss, rise = search(theta, how, space, at, tuple(rows), index)
            steps = block.stop
        ranks = {f"rank_{layer}": float(len(v)) for layer, v in enumerate(M)}
        return {"loss_replay": loss, "loss_rise": rise, "steps_replay": float(steps)} | ranks

    def sets(self, step: Step, pseudo: Pseudo, learner: Learner) -> tuple[list[Rows], list[float]]:
        """The rows that are learnt from, and the weight of each set's mean loss."""
        return self.fit.gathered([step.gold, pseudo.rows])

    def subspace(self, step: Step) -> list[Tensor]:
        """V of every layer [rank, in + 1]: M is what the layers see under the last parameters."""
        gold = step.gold.X[: self.rows] if len(step.lookback) else step.gold.X
        h, M = torch.cat([gold, step.lookback.X]), []
        for layer in step.theta:
            seen = F.pad(h, (0, 1), value=1.0)  # [n, in + 1], bias included
            M.append(span(seen.T @ seen / len(seen), self.energy, self.cap))
            h = affine(h, layer).relu()
        return M


def span(gram: Tensor, energy: float, cap: float) -> Tensor:
    """V [rank, w]: the leading eigenvectors of a Gram matrix [w, w] of representations.

    As few as carry `energy` of the sum of the eigenvalues, and at most a share `cap` of them.
    """
    values, vectors = eigh(gram)
    values, vectors = values.flip(0).clamp(min=0), vectors.flip(1)
    share = values.cumsum(0) / values.sum().clamp(min=1e-30)
    rank = min(int((share < energy).sum()) + 1, int(cap * len(gram)))
    return vectors[:, :rank].T.contiguous()


def eigh(gram: Tensor) -> tuple[Tensor, Tensor]:
    """torch's; in double precision if single precision fails, by an error or by NaN."""
    try:
        values, vectors = torch.linalg.eigh(gram)
        if values.isfinite().all() and vectors.isfinite().all():
            return values, vectors
    except torch.linalg.LinAlgError:
        pass
    values, vectors = torch.linalg.eigh(gram.double())
    return values.to(gram.dtype), vectors.to(gram.dtype)


# The search is compiled: a step is some fifty products of small matrices, which take less time than
# their dispatch from Python would.


class How(NamedTuple):
    """The settings that the search itself reads."""

    eta1: float
    eta2: float
    momentum: float
    ascents: int
    rho: float  # the length of xi; 0: as long as it comes out
    no_xi: bool
    no_proj: bool
    carried: bool


class Space(NamedTuple):
    """M, and the arrays that the search writes, one per layer."""

    V: Arrays  # [rank, in + 1]
    within: Arrays  # [rank, out]: coordinates in M
    image: Arrays  # P_M g
    point: Arrays  # theta + xi
    xi: Arrays  # carried to the next step of descent
    velocity: Arrays


def space_of(V: Arrays, theta: Arrays) -> Space:
    within = tuple(
        np.empty((len(v), layer.shape[1]), np.float32) for v, layer in zip(V, theta, strict=True)
    )
    return Space(V, within, *(zeros(theta) for _ in range(4)))


@compiled
def project(space: Space, grads: Arrays) -> None:
    """The image P_M g of every layer's gradient."""
    for i in range(len(grads)):
        np.dot(space.V[i], grads[i], space.within[i])
        np.dot(space.V[i].T, space.within[i], space.image[i])


@compiled
def gradient(point: Arrays, buffers: Buffers, y: Array, w: Array) -> Number:
    """L of the batch h[0] at a point; its gradient goes into grads."""
    logits = buffers.slopes[len(point) - 1]
    trace(point, buffers.h, logits)
    loss = cross_entropy(logits, y, w)
    cross_entropy_slope(logits, y, w)
    backward(point, buffers.h, buffers.slopes, buffers.grads, NO_PULL)
    return loss


@compiled
def ascend(theta: Arrays, how: How, space: Space, buffers: Buffers, y: Array, w: Array) -> None:
    """point = theta + xi, by Eqs. 9 and 10."""
    point, steps = space.point, buffers.grads if how.no_proj else space.image
    for i in range(len(theta)):
        copy(theta[i], point[i])
        if how.carried:
            add(1, space.xi[i], point[i])
    for _ in range(how.ascents):
        gradient(point, buffers, y, w)
        if not how.no_proj:
            project(space, buffers.grads)
        for i in range(len(theta)):
            add(how.eta1, steps[i], point[i])
    if how.rho or how.carried:
        square = 0.0
        for i in range(len(theta)):
            copy(point[i], space.xi[i])
            add(-1, theta[i], space.xi[i])
            square += np.sum(space.xi[i] * space.xi[i])
        scale = np.float32(how.rho / max(np.sqrt(square), 1e-12)) if how.rho else np.float32(1)
        for i in range(len(theta)):
            space.xi[i][:] *= scale  # carried on as it is used: rescaled, so bounded
            copy(theta[i], point[i])
            add(1, space.xi[i], point[i])


@compiled
def search(
    theta: Arrays,
    how: How,
    space: Space,
    buffers: Buffers,
    rows: tuple[Array, Array, Array],  # X [n, d], y [n], w [b]
    index: Array,  # [steps, b] into the rows
) -> tuple[float, float]:
    """Descent from theta on, in place; the last step's L(theta + xi), and what of it is xi's."""
    X, y, w = rows
    grads, label = buffers.grads, np.empty(len(w), np.int64)
    point, loss, rise = theta if how.no_xi else space.point, np.float32(0), np.float32(0)
    for k in range(len(index)):
        gather(X, y, index[k], buffers.h[0], label)
        here = gradient(theta, buffers, label, w) if k == len(index) - 1 else np.float32(0)
        if not how.no_xi:
            ascend(theta, how, space, buffers, label, w)
        loss = gradient(point, buffers, label, w)
        rise = loss - here
        if not how.no_proj:
            project(space, grads)
            for i in range(len(theta)):
                add(-1, space.image[i], grads[i])
        sgd(theta, space.velocity, grads, how.eta2, how.momentum)
    return float(loss), float(rise)
