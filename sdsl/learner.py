"""The learner: h = g(f(x)), a stacked MLP of S replicas, and its mean-teacher fit (Tarvainen 2017).

L = sum_k w_k mean CE(set k) + w(k) mean ||softmax h(x + e) - softmax h'(x + e')||^2, h' the EMA of h.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.component import choice, number
from sdsl.replica import Batches, Draws, Rows

Theta = list[Tensor]  # a layer is one tensor [S, in + 1, out]; its last row is the bias


@dataclass
class Training:
    """How a phase of training runs; batch=0 is full batch."""

    steps: int = number(100, low=0)
    batch: int = number(64, low=0)
    lr: float = number(0.01, low=0)
    momentum: float = number(0.9, low=0, high=1)
    optimizer: str = choice("sgd", "adam")
    consistency: float = number(0.0, low=0)  # weight of the mean-teacher term after ramp-up
    noise: float = number(0.1, low=0)  # sd of the Gaussian input noise of each branch
    ema: float = number(0.99, low=0, high=1)
    ramp: float = number(0.3, low=0, high=1)  # share of the steps over which consistency rises


class Optimizer:
    """SGD with momentum or Adam as plain tensor code: elementwise, so blind to the replica axis."""

    def __init__(self, theta: Theta, how: Training):
        self.theta, self.how, self.k = theta, how, 0
        self.m = [torch.zeros_like(p) for p in theta]
        self.v = [torch.zeros_like(p) for p in theta] if how.optimizer == "adam" else []

    @torch.no_grad()
    def step(self, grads: Sequence[Tensor]) -> None:
        self.k += 1
        if self.how.optimizer == "sgd":
            torch._foreach_mul_(self.m, self.how.momentum)
            torch._foreach_add_(self.m, grads)
            torch._foreach_add_(self.theta, self.m, alpha=-self.how.lr)
            return
        b1, b2 = 0.9, 0.999
        torch._foreach_lerp_(self.m, grads, 1 - b1)
        torch._foreach_mul_(self.v, b2)
        torch._foreach_addcmul_(self.v, grads, grads, value=1 - b2)
        root = torch._foreach_sqrt(self.v)
        torch._foreach_div_(root, math.sqrt(1 - b2**self.k))
        torch._foreach_add_(root, 1e-8)
        torch._foreach_addcdiv_(self.theta, self.m, root, value=-self.how.lr / (1 - b1**self.k))


def forward(x: Tensor, theta: Theta) -> tuple[Tensor, Tensor]:
    """(features f(x) [S, n, m], logits h(x) [S, n, C]) under any parameters."""
    for layer in theta[:-1]:
        x = torch.baddbmm(layer[:, -1:], x, layer[:, :-1]).relu_()
    head = theta[-1]
    return x, torch.baddbmm(head[:, -1:], x, head[:, :-1])


def cross_entropy(logits: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """sum_b w CE(logits, y), one number a replica: [S, b, C], [S, b], [S, b] to [S]."""
    log_p = logits.log_softmax(2)
    return -(log_p.gather(2, y[:, :, None]).squeeze(2) * w).sum(1)


def gradients(loss: Tensor, theta: Theta) -> tuple[Tensor, ...]:
    """d loss[s] / d theta[s] for every replica: the sum over S only joins independent graphs."""
    return torch.autograd.grad(loss.sum(), theta)


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
    def features(self, x: Tensor) -> Tensor:
        return forward(x, self.theta)[0]

    @torch.no_grad()
    def probabilities(self, x: Tensor) -> Tensor:
        return forward(x, self.theta)[1].softmax(2)

    @torch.no_grad()
    def predict(self, x: Tensor) -> Tensor:
        if self.classifier is not None:
            return self.classifier(x)
        return forward(x, self.theta)[1].argmax(2)

    def fit(
        self,
        how: Training,
        sets: Sequence[Rows],
        draws: Draws,
        weights: Sequence[float] | None = None,
        unlabelled: Tensor | None = None,
    ) -> Tensor:
        """Train on labelled sets, each weighted on its own; returns the last loss [S].

        unlabelled rows take part in the consistency term only.
        """
        weights = [1.0] * len(sets) if weights is None else list(weights)
        if how.consistency and unlabelled is not None:
            y = torch.zeros(unlabelled.shape[:2], dtype=torch.long)
            sets, weights = [*sets, Rows.full(unlabelled, y)], [*weights, 0.0]
        optimizer = Optimizer(self.theta, how)
        loss = torch.zeros(len(self.theta[0]))
        for k, (x, y, w) in enumerate(Batches(sets, weights, how.steps, how.batch, draws)):
            if not how.consistency:
                loss = cross_entropy(forward(x, self.theta)[1], y, w)
            else:
                loss = self._mean_teacher_loss(x, y, w, how, k, draws)
            optimizer.step(gradients(loss, self.theta))
            if how.consistency:
                alpha = min(1 - 1 / (k + 1), how.ema)
                with torch.no_grad():
                    torch._foreach_lerp_(self.teacher, self.theta, 1 - alpha)
        return loss.detach()

    def _mean_teacher_loss(self, x, y, w, how: Training, k: int, draws: Draws) -> Tensor:
        ramp = how.steps * how.ramp
        risen = min(1.0, (k + 1) / ramp) if ramp else 1.0
        weight = how.consistency * math.exp(-5 * (1 - risen) ** 2)
        student, teacher = x, x
        if how.noise:
            student = x + how.noise * draws.normal(*x.shape[1:])
            teacher = x + how.noise * draws.normal(*x.shape[1:])
        logits = forward(student, self.theta)[1]
        with torch.no_grad():
            target = forward(teacher, self.teacher)[1].softmax(2)
        gap = F.mse_loss(logits.softmax(2), target, reduction="none").mean((1, 2))
        return cross_entropy(logits, y, w) + weight * gap
