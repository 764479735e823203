"""The learner: a network h = g(f(x)) and its mean-teacher fit (Tarvainen and Valpola, 2017).

L = sum_k w_k mean CE(set k) + w(k) mean ||softmax h(x + e) - softmax h'(x + e')||^2, h' EMA of h.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sdsl.core.descent import fit, fit_in_span
from sdsl.core.draws import Batches, Draws
from sdsl.core.finite import check_scores
from sdsl.core.kernel import buffers, zeros
from sdsl.core.network import Theta, arrays, forward, scores
from sdsl.core.rows import Rows
from sdsl.core.scaler import Scaler
from sdsl.core.training import Training

NO_NOISE = torch.empty(0, 2, 0, 0)


class Learner:
    """A network with parameters theta, and its mean teacher."""

    def __init__(self, sizes: Sequence[int], draws: Draws):
        """sizes: (d, hidden..., C); the hidden layers are the encoder f, the last layer is g."""
        self.sizes, self.init = tuple(sizes), draws
        # Set by a method whose classifier is no network (1-NN): x [n, d] to labels [n]. Another
        # object whenever it may give other labels: the engine tests an unchanged model only once.
        self.classifier: Callable[[Tensor], Tensor] | None = None
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
        self.init.restore(state["init"])

    def rescale(self, old: Scaler, new: Scaler) -> None:
        """The same function of raw rows under another scaler: the change goes into layer 1.

        x_old = x_new r + c with r = sd_new / sd_old and c = (mean_new - mean_old) / sd_old.
        """
        r, c = new.scale / old.scale, (new.mean - old.mean) / old.scale  # [1, d]
        for layer in (self.theta[0], self.teacher[0]):
            layer[-1:] += c @ layer[:-1]
            layer[:-1] *= r.mT

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

    def fit(
        self,
        how: Training,
        sets: Sequence[Rows],
        draws: Draws,
        weights: Sequence[float] | None = None,
        unlabelled: Tensor | None = None,
    ) -> float:
        """Train on labelled sets, each with a weight of its own; returns the last cross-entropy.

        unlabelled rows take part in the consistency term only.
        """
        if not how.steps or not any(len(rows) for rows in sets):
            return 0.0
        weights = [1.0] * len(sets) if weights is None else list(weights)
        if how.consistency and unlabelled is not None:
            sets, weights = [*sets, Rows.unlabelled(unlabelled)], [*weights, 0.0]
        batches = Batches(sets, weights, how.steps, how.batch, draws)
        rates = np.array([how.rate(k) for k in range(how.steps)])
        pulls = np.array([how.consistency * how.ramp_up(k) for k in range(how.steps)])
        theta, teacher = arrays(self.theta), arrays(self.teacher)
        X, y, w, index = arrays([batches.X, batches.y, batches.w, batches.index])
        if not (how.batch or how.consistency):
            used = w > 0  # rows without weight cost time and change nothing
            X, y, w, index = X[used], y[used], w[used], index[:, : used.sum()]
            if not len(X):
                return 0.0
            if how.optimizer == "sgd" and len(theta) > 1 and len(X) <= X.shape[1]:
                return fit_in_span(theta, X, y, w, rates, how.momentum)
        m, v = zeros(theta), zeros(theta) if how.optimizer == "adam" else ()
        at, k, loss = buffers(theta, index.shape[1]), 0, 0.0
        noise: Iterator[Tensor] = iter([NO_NOISE])
        if noisy := bool(how.consistency and how.noise):
            noise = draws.normals(how.steps, 2, *batches.shape)
        for e in noise:  # [some steps, 2, b, d]: as many as stay in cache
            now = slice(k, k + len(e) if noisy else how.steps)
            picked = index[now] if how.batch else index
            phase = picked, e.numpy(), how.noise, rates[now], pulls[now]
            loss = fit(theta, teacher, m, v, at, (X, y, w), *phase, how.momentum, how.ema, k)
            k = now.stop
        return float(loss)
