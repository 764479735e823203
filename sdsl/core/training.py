"""How a phase of training runs, and the optimizers: plain tensor code, blind to the replica axis.

SGD: m <- momentum m + g, theta <- theta - lr m.  Adam: Kingma and Ba, 2015.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.core.fields import choice, number, setting
from sdsl.core.network import Theta

Grads = list[Tensor] | tuple[Tensor, ...]  # one tensor per layer


@dataclass
class Training:
    """One phase of training; batch=0 is full batch."""

    steps: int = number(low=0)
    batch: int = number(low=0)  # rows of each labelled set in an update
    lr: float = number(low=0)
    momentum: float = number(low=0, high=1)
    optimizer: str = choice("sgd", "adam")
    consistency: float = number(low=0)  # weight of the mean-teacher term after ramp-up
    noise: float = number(low=0)  # sd of the Gaussian input noise of student and teacher
    ema: float = number(low=0, high=1)  # how slowly the teacher follows the student
    decay: bool = setting()  # the rate falls to 0 in a straight line over the steps
    ramp: bool = setting()  # the mean-teacher term's weight grows over the first 30% of the steps

    def rate(self, k: int) -> float:
        """The learning rate of step k = 0, 1, ..."""
        return self.lr * (1 - k / self.steps if self.decay else 1)

    def ramp_up(self, k: int) -> float:
        """The share of the mean-teacher term's weight at step k (Laine and Aila, 2017)."""
        if not self.ramp:
            return 1.0
        return math.exp(-5 * (1 - min(1.0, (k + 1) / (0.3 * self.steps))) ** 2)

    def optimize(self, theta: Theta) -> "Sgd | Adam":
        return Sgd(theta, self.momentum) if self.optimizer == "sgd" else Adam(theta)


class Sgd:
    """Steps along a moving sum of gradients."""

    def __init__(self, theta: Theta, momentum: float):
        self.theta, self.momentum = theta, momentum
        self.m = [torch.zeros_like(p) for p in theta]

    @torch.no_grad()
    def step(self, grads: Grads, lr: float) -> None:
        torch._foreach_mul_(self.m, self.momentum)
        torch._foreach_add_(self.m, grads)
        torch._foreach_add_(self.theta, self.m, alpha=-lr)


class Adam:
    """Steps along the gradient's moving mean over the root of its moving square."""

    def __init__(self, theta: Theta):
        self.theta, self.k = theta, 0
        self.m = [torch.zeros_like(p) for p in theta]
        self.v = [torch.zeros_like(p) for p in theta]

    @torch.no_grad()
    def step(self, grads: Grads, lr: float) -> None:
        self.k += 1
        b1, b2 = 0.9, 0.999
        torch._foreach_lerp_(self.m, grads, 1 - b1)
        torch._foreach_mul_(self.v, b2)
        torch._foreach_addcmul_(self.v, grads, grads, value=1 - b2)
        unbias = math.sqrt(1 - b2**self.k)
        # eps under the root, not beside it: MKL's root of a 0 takes ten times as long.
        root = torch._foreach_add(self.v, (1e-8 * unbias) ** 2)
        torch._foreach_sqrt_(root)
        rate = lr * unbias / (1 - b1**self.k)
        torch._foreach_addcdiv_(self.theta, self.m, root, value=-rate)
