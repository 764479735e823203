"""SAR (Niu 2023): sharpness-aware entropy minimisation on reliable rows, recovery from collapse.

min over theta of max_{||e|| <= rho} mean H(h_{theta+e}(x)) over rows with H < gate ln C; back to
the source when the moving average of that entropy falls below `reset` ln C.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.descent import sgd
from sdsl.core.draws import Batches, Draws
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, arrays, graph
from sdsl.core.rows import Rows
from sdsl.core.settings import Positive, Weight, settings

MOMENTUM = 0.9
Slope = tuple[float, tuple[Tensor, ...], Tensor]


@settings
class Sar(Replay):
    steps: Positive  # per segment
    batch: Positive
    lr: Weight
    rho: Weight
    gate: Weight  # in units of ln C
    reset: Weight  # in units of ln C: SAR's 0.2 was made for 1000 classes
    adapt: Literal["encoder", "all"]

    own_units = True  # the source

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.source, self.layers = learner.copy(), len(learner.theta) - (self.adapt == "encoder")
        self.reset_to_source()

    def reset_to_source(self) -> None:
        self.free = [p.clone() for p in self.source[: self.layers]]  # the adapted layers
        self.m = [torch.zeros_like(p) for p in self.free]
        self.average: float | None = None  # the moving average of the entropy

    def slope(self, x: Tensor, free: Theta, gate: float, among: Tensor | bool = True) -> Slope:
        """(mean entropy, its gradient, the rows it is over: those `among` below the gate)"""
        free = [p.detach().requires_grad_() for p in free]
        log_p = graph(x, [*free, *self.source[self.layers :]]).log_softmax(1)
        H = -(log_p.exp() * log_p).sum(1)  # [b]
        reliable = (gate > H) & among
        mean = (H * reliable).sum() / reliable.sum().clamp(min=1)
        return float(mean.detach()), torch.autograd.grad(mean, free), reliable

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        unit, resets, loss = math.log(learner.classes), 0, 0.0
        rows, gate = Rows.unlabelled(step.X), self.gate * unit
        for x, _, _ in Batches([rows], [1.0], self.steps, self.batch, step.draws):
            _, grads, reliable = self.slope(x, self.free, gate)
            push = ascent(grads, self.rho)
            pushed = [p + e for p, e in zip(self.free, push, strict=True)]
            loss, grads, reliable = self.slope(x, pushed, gate, reliable)
            sgd(*(arrays(part) for part in (self.free, self.m, grads)), self.lr, MOMENTUM)
            if reliable.any():
                self.average = loss if self.average is None else 0.9 * self.average + 0.1 * loss
            if self.average is not None and self.average < self.reset * unit:  # collapsed
                self.reset_to_source()
                resets += 1
        learner.load([*self.free, *self.source[self.layers :]])
        return {"loss_replay": loss, "resets": float(resets)}


def ascent(grads: Sequence[Tensor], rho: float) -> list[Tensor]:
    """rho g / ||g||, the norm over all that is adapted."""
    norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt() + 1e-12
    return [rho * g / norm for g in grads]
