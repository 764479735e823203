"""The learner: S networks h = g(f(x)) and their mean-teacher fit (Tarvainen and Valpola, 2017).

L = sum_k w_k mean CE(set k) + w(k) mean ||softmax h(x + e) - softmax h'(x + e')||^2, h' EMA of h.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from sdsl.core.descent import fit
from sdsl.core.finite import scored
from sdsl.core.kernel import buffers, zeros
from sdsl.core.network import Theta, arrays, forward, scores
from sdsl.core.replica import Batches, Draws, Rows
from sdsl.core.scaler import Scaler
from sdsl.core.span import fit_in_span
from sdsl.core.training import Training

NO_NOISE = torch.empty(0, 2, 0, 0)


class Learner:
    """S networks with parameters theta and their mean teacher."""

    def __init__(self, sizes: Sequence[int], seeds: Sequence[int]):
        """sizes: (d, hidden..., C); the hidden layers are the encoder f, the last layer is g."""
        self.sizes = tuple(sizes)
        self.init = Draws(seeds, "init")
        # Installed by a method whose classifier is no network (1-NN): x [S, n, d] to labels [S, n].
        self.classifier: Callable[[Tensor], Tensor] | None = None
        self.reset()

    @property
    def classes(self) -> int:
        return self.sizes[-1]

    def reset(self) -> None:
        """Fresh random networks, drawn on from each replica's own initialisation generator."""
        self.theta = []
        for fan_in, fan_out in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            bound = 1 / math.sqrt(fan_in)
            layer = (2 * self.init.uniform(fan_in + 1, fan_out) - 1) * bound
            self.theta.append(layer.requires_grad_())
        self.teacher = self.copy()

    def copy(self) -> Theta:
        return [p.detach().clone() for p in self.theta]

    @torch.no_grad()
    def load(self, theta: Theta) -> None:
        torch._foreach_copy_(self.theta, theta)

    @torch.no_grad()
    def rescale(self, old: Scaler, new: Scaler) -> None:
        """The same function of raw rows under another scaler: the change goes into layer 1.

        x_old = x_new r + c with r = sd_new / sd_old and c = (mean_new - mean_old) / sd_old.
        """
        r, c = new.scale / old.scale, (new.mean - old.mean) / old.scale  # [S, 1, d]
        for layer in (self.theta[0], self.teacher[0]):
            layer[:, -1:] += c @ layer[:, :-1]
            layer[:, :-1] *= r.mT

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        return forward(x, self.theta)[0]

    @torch.no_grad()
    def probabilities(self, x: Tensor) -> Tensor:
        return scores(x, self.theta).softmax(2)

    @torch.no_grad()
    def predict(self, x: Tensor) -> Tensor:
        if self.classifier is not None:
            return self.classifier(x)
        return scored(scores(x, self.theta), "the network's outputs").argmax(2)

    @torch.no_grad()
    def fit(
        self,
        how: Training,
        sets: Sequence[Rows],
        draws: Draws,
        weights: Sequence[float | Tensor] | None = None,
        unlabelled: Tensor | None = None,
    ) -> Tensor:
        """Train on labelled sets, each weighted on its own; returns the last cross-entropy [S].

        unlabelled rows take part in the consistency term only.
        """
        if not how.steps:
            return torch.zeros(len(self.theta[0]))
        weights = [1.0] * len(sets) if weights is None else list(weights)
        if how.consistency and unlabelled is not None:
            sets, weights = [*sets, Rows.unlabelled(unlabelled)], [*weights, 0.0]
        batches = Batches(sets, weights, how.steps, how.batch, draws)
        schedule = [(how.rate(k), how.consistency * how.ramp_up(k)) for k in range(how.steps)]
        each = range(len(batches.X))
        return torch.tensor([self._fit_one(s, how, schedule, batches, draws) for s in each])

    def _fit_one(
        self,
        s: int,
        how: Training,
        schedule: Sequence[tuple[float, float]],  # rate and weight of the teacher, step by step
        batches: Batches,
        draws: Draws,
    ) -> float:
        """Replica s; its noise is drawn for as many steps at a time as stay in cache."""
        theta, teacher = arrays(self.theta, s), arrays(self.teacher, s)
        index, *rows = arrays([batches.index, batches.X, batches.y, batches.w], s)
        m, v = zeros(theta), zeros(theta) if how.optimizer == "adam" else ()
        rates, weights = np.array(schedule).T
        if not (how.batch or how.consistency):
            real = rows[2] > 0  # what weighs nothing costs nothing
            rows, index = [part[real] for part in rows], index[:, : real.sum()]
            X, y, w = rows
            if not len(X):
                return 0.0
            if how.optimizer == "sgd" and len(theta) > 1 and len(X) <= X.shape[1]:
                return fit_in_span(theta, X, y, w, rates, how.momentum)
        noisy = how.consistency and how.noise
        noise = draws.normals(s, how.steps, 2, *batches.shape) if noisy else iter([NO_NOISE])
        at, k, loss = buffers(theta, index.shape[1]), 0, 0.0
        while k < how.steps:
            e = next(noise)  # [some steps, 2, b, d]
            now = slice(k, k + len(e) if noisy else how.steps)
            picked = index[now] if how.batch else index
            phase = picked, e.numpy(), how.noise, rates[now], weights[now]
            loss = fit(theta, teacher, m, v, at, tuple(rows), *phase, how.momentum, how.ema, k)
            k = now.stop
        return loss
