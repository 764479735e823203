"""The learner: S networks h = g(f(x)) and their mean-teacher fit (Tarvainen and Valpola, 2017).

L = sum_k w_k mean CE(set k) + w(k) mean ||softmax h(x + e) - softmax h'(x + e')||^2, h' EMA of h.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.core.descent import fit
from sdsl.core.finite import scored
from sdsl.core.kernel import buffers, zeros
from sdsl.core.network import Theta, arrays, cross_entropy, forward, scores
from sdsl.core.replica import Batches, Draws, Rows
from sdsl.core.scaler import Scaler
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
        if not (how.batch or how.consistency) and how.optimizer == "sgd":
            return self._fit_whole(how, batches.X, batches.y, batches.w)
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
        noisy = how.consistency and how.noise
        noise = draws.normals(s, how.steps, 2, *batches.shape) if noisy else iter([NO_NOISE])
        at, k, loss = buffers(theta, batches.shape[0]), 0, 0.0
        while k < how.steps:
            e = next(noise)  # [some steps, 2, b, d]
            now = slice(k, k + len(e) if noisy else how.steps)
            picked = index[now] if how.batch else index
            phase = picked, e.numpy(), how.noise, rates[now], weights[now]
            loss = fit(theta, teacher, m, v, at, tuple(rows), *phase, how.momentum, how.ema, k)
            k = now.stop
        return loss

    def _fit_whole(self, how: Training, x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        """Full-batch SGD: small networks (RECORD's) at less than half the cost.

        Every step sees the same rows, so the inputs [h 1] are laid out once, the 1 for the bias,
        and a layer's momentum takes its gradient in one product: m <- momentum m + [h 1]^T slope.
        Few rows of many features (RECORD on Spam) move the first layer W within their span alone:
        W = W_0 + [x 1]^T a, and a takes steps along `slope` itself, which saves that product.
        """
        seen, theta = F.pad(x, (0, 1), value=1.0), list(self.theta)
        few = len(theta) > 1 and seen.shape[1] < seen.shape[2]
        if few:
            start, gram = torch.bmm(seen, theta[0]), torch.bmm(seen, seen.mT)
            theta[0] = torch.zeros_like(start)
        inputs = [
            gram if few else seen,
            *(x.new_ones(*y.shape, p.shape[2] + 1) for p in theta[:-1]),
        ]
        free = [*theta[:-1], theta[-1].mT]  # classes lie in rows here: [S, C, b]
        m = [torch.zeros(p.shape) for p in free]
        w_class = w[:, None]
        target = w.new_zeros(len(w), self.classes, w.shape[1]).scatter_(1, y[:, None], w_class)
        for k in range(how.steps):
            for i, layer in enumerate(theta[:-1]):
                h = torch.bmm(inputs[i], layer)
                h = h.add_(start) if few and i == 0 else h
                torch.clamp(h, min=0, out=inputs[i + 1][:, :, :-1])
            logits = torch.bmm(theta[-1].mT, inputs[-1].mT)
            slope = (logits.softmax(1) * w_class).sub_(target)
            m[-1].baddbmm_(slope, inputs[-1], beta=how.momentum)
            slope = slope.mT
            for i in reversed(range(len(theta) - 1)):
                slope = torch.bmm(slope, theta[i + 1][:, :-1].mT)
                slope = slope.mul_(inputs[i + 1][:, :, :-1] > 0)
                if few and i == 0:
                    m[i].mul_(how.momentum).add_(slope)
                else:
                    m[i].baddbmm_(inputs[i].mT, slope, beta=how.momentum)
            torch._foreach_add_(free, m, alpha=-how.rate(k))
        if few:
            self.theta[0].baddbmm_(seen.mT, theta[0])
        return cross_entropy(logits.mT, y, w)
