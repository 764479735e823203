"""The learner: a network h = g(f(x)) and its mean-teacher fit (Tarvainen and Valpola, 2017).

L = sum_k w_k mean CE(set k) + w(k) mean ||softmax h(x + e) - softmax h'(x + e')||^2, h' EMA of h.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.core.descent import fit, fit_in_span
from sdsl.core.draws import Batches, Draws
from sdsl.core.finite import check_scores
from sdsl.core.kernel import Arrays, buffers, zeros
from sdsl.core.network import Theta, arrays, forward, scores, wrong_shapes
from sdsl.core.rows import Rows, misfit
from sdsl.core.training import Training

NO_NOISE = torch.empty(0, 2, 0, 0)


class Fitted(NamedTuple):
    """How a fit ended."""

    loss: float  # cross-entropy of the last step
    steps: int


class Learner:
    """A network with parameters theta, and its mean teacher."""

    def __init__(self, sizes: Sequence[int], draws: Draws):
        """sizes: (d, hidden..., C); the hidden layers are the encoder f, the last layer is g."""
        self.sizes, self.init = tuple(sizes), draws
        # Set by a method whose classifier is no network (1-NN): x [n, d] to labels [n]. Another
        # object whenever it may give other labels: the engine tests an unchanged model only once.
        self.classifier: Callable[[Tensor], Tensor] | None = None
        # The labeler's own classifier of the same kind, which a replay may make the learner's.
        self.rule: Any = None
        self.reset()

    @property
    def classes(self) -> int:
        return self.sizes[-1]

    def reset(self) -> None:
        """A new random network, from the initialisation generator."""
        self.theta: Theta = []
        for fan_in, fan_out in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            bound = 1 / math.sqrt(fan_in)
            self.theta.append((2 * self.init.uniform(fan_in + 1, fan_out) - 1) * bound)
        self.teacher = self.copy()

    def copy(self) -> Theta:
        """The parameters as they are now."""
        return [p.clone() for p in self.theta]

    def load(self, theta: Theta) -> None:
        """Take over parameters, in place."""
        torch._foreach_copy_(self.theta, [p.detach() for p in theta])

    def state(self) -> dict[str, Any]:
        return {"theta": self.theta, "teacher": self.teacher, "init": self.init.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.theta, self.teacher = list(state["theta"]), list(state["teacher"])
        for theta in (self.theta, self.teacher):
            if found := wrong_shapes(theta, self.sizes):
                raise ValueError(found)
        self.init.restore(state["init"])

    def features(self, x: Tensor) -> Tensor:
        """f(x) [n, m]"""
        return forward(x, self.theta)[0]

    def probabilities(self, x: Tensor) -> Tensor:
        """softmax h(x) [n, C]"""
        return scores(x, self.theta).softmax(1)

    def predict(self, x: Tensor) -> Tensor:
        """Labels [n] of the rows x [n, d]."""
        if self.classifier is not None:
            return self.classifier(x)
        return check_scores(scores(x, self.theta), "the network's outputs").argmax(1)

    def loss(self, rows: Rows) -> float:
        """Mean cross-entropy of labelled rows."""
        return float(F.cross_entropy(scores(rows.X, self.theta), rows.y))

    def fit(
        self,
        how: Training,
        sets: Sequence[Rows],
        draws: Draws,
        weights: Sequence[float] | None = None,
        unlabelled: Tensor | None = None,
    ) -> Fitted:
        """Train on labelled sets: on their union, or on the mean loss of each with its weight.

        unlabelled rows take part in the consistency term only, in a batch of their own.
        """
        labelled = Rows.cat(*sets)
        if not how.steps or not len(labelled):
            return Fitted(0.0, 0)
        if found := misfit(labelled, self.sizes[0], self.classes):
            raise ValueError(f"cannot fit to {found}")  # compiled loops do not look
        sets, weights = how.gathered(sets, weights)
        if how.consistency and unlabelled is not None:
            sets, weights = [*sets, Rows.unlabelled(unlabelled)], [*weights, 0.0]
        theta = arrays(self.theta)
        m, v = zeros(theta), zeros(theta) if how.optimizer == "adam" else ()
        loss, steps = 0.0, 0
        for block in how.blocks(lambda: self.loss(labelled)):
            batches = Batches(sets, weights, len(block), how.batch, draws)
            loss, steps = self._descend(how, batches, block, m, v, draws), block.stop
        return Fitted(loss, steps)

    def _descend(
        self, how: Training, batches: Batches, block: range, m: Arrays, v: Arrays, draws: Draws
    ) -> float:
        """A block of steps; the last one's cross-entropy."""
        rates = np.array([how.rate(k) for k in block])
        pulls = np.array([how.consistency * how.ramp_up(k) for k in block])
        theta, teacher = arrays(self.theta), arrays(self.teacher)
        X, y, w, index = arrays([batches.X, batches.y, batches.w, batches.index])
        if not (how.batch or how.consistency):
            used = w > 0  # rows without weight cost time and change nothing
            X, y, w, index = X[used], y[used], w[used], index[:, : used.sum()]
            if not len(X):
                return 0.0
            if how.optimizer == "sgd" and len(theta) > 1 and len(X) <= X.shape[1]:
                return fit_in_span(theta, X, y, w, rates, how.momentum)
        at, k, loss = buffers(theta, index.shape[1]), 0, 0.0
        noise: Iterator[Tensor] = iter([NO_NOISE])
        if noisy := bool(how.consistency and how.noise):
            noise = draws.normals(len(block), 2, *batches.shape)
        for e in noise:  # [some steps, 2, b, d]: as many as stay in cache
            now = slice(k, k + len(e) if noisy else len(block))
            picked = index[now] if how.batch else index
            phase = picked, e.numpy(), how.noise, rates[now], pulls[now]
            first = block.start + k
            loss = fit(theta, teacher, m, v, at, (X, y, w), *phase, how.momentum, how.ema, first)
            k = now.stop
        return float(loss)
