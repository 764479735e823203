"""How a phase of training runs, and the optimizers of core/descent for S replicas at once."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.core import descent
from sdsl.core.fields import choice, number, setting
from sdsl.core.network import Theta, arrays

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

    def step(self, grads: Grads, lr: float) -> None:
        for s in range(len(self.theta[0])):
            parts = (arrays(part, s) for part in (self.theta, self.m, grads))
            descent.sgd(*parts, lr, self.momentum)


class Adam:
    """Steps along the gradient's moving mean over the root of its moving square."""

    def __init__(self, theta: Theta):
        self.theta, self.k = theta, 0
        self.m = [torch.zeros_like(p) for p in theta]
        self.v = [torch.zeros_like(p) for p in theta]

    def step(self, grads: Grads, lr: float) -> None:
        self.k += 1
        for s in range(len(self.theta[0])):
            parts = (arrays(part, s) for part in (self.theta, self.m, self.v, grads))
            descent.adam(*parts, lr, self.k)
