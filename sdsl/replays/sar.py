"""SAR (Niu 2023): sharpness-aware entropy minimisation on reliable rows, recovery from collapse.

min over theta of max_{||e|| <= rho} mean H(h_{theta+e}(x)) over rows with H < gate ln C; back to
the source when the moving average of that entropy falls below `reset` ln C.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import choice, number
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, gradients, graph
from sdsl.core.replica import Batches, Draws, Rows
from sdsl.core.training import Sgd


@dataclass
class Sar(Replay):
    steps: int = number(low=1)  # of a segment
    batch: int = number(low=1)
    lr: float = number(low=0)
    rho: float = number(low=0)
    gate: float = number(low=0)  # in units of ln C
    reset: float = number(low=0)  # ln C: SAR's 0.2, made for 1000 classes
    # Whole layers, or only a scale and shift per hidden unit, as the norm layers SAR adapts have.
    adapt: str = choice("encoder", "affine", "all")

    def own_units(self) -> bool:
        return True  # the source

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.source = learner.copy()
        self.free = [p.requires_grad_() for p in self.first()]
        self.optimizer = Sgd(self.free, momentum=0.9)
        self.ema = torch.full((len(self.source[0]),), torch.nan)

    def first(self) -> Theta:
        """What is adapted, as it is at the source."""
        if self.adapt == "affine":
            one = [torch.ones_like(layer[:, :2]) for layer in self.source[:-1]]
            return [torch.cat([p[:, :1], 0 * p[:, 1:]], 1) for p in one]  # [S, (scale, shift), out]
        return [p.clone() for p in self.source[: None if self.adapt == "all" else -1]]

    def network(self) -> Theta:
        if self.adapt == "affine":
            pairs = zip(self.source, self.free, strict=False)
            hidden = [
                torch.cat([p[:, :-1] * a[:, :1], p[:, -1:] * a[:, :1] + a[:, 1:]], 1)
                for p, a in pairs
            ]
        else:
            hidden = self.free
        return [*hidden, *self.source[len(hidden) :]]

    def entropy(self, x: Tensor) -> Tensor:
        log_p = graph(x, self.network()).log_softmax(2)
        return -(log_p.exp() * log_p).sum(2)  # [S, b]

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        rows = Rows.unlabelled(step.X)
        unit, resets = math.log(learner.classes), torch.zeros(len(step.X))
        for x, _, _ in Batches([rows], [1.0], self.steps, self.batch, step.draws):
            H = self.entropy(x)
            reliable = self.gate * unit > H
            push = self.ascent(gradients(mean_over(H, reliable), self.free))
            with torch.no_grad():
                torch._foreach_add_(self.free, push)
            H = self.entropy(x)
            reliable &= self.gate * unit > H
            loss = mean_over(H, reliable)
            grads = gradients(loss, self.free)
            with torch.no_grad():
                torch._foreach_sub_(self.free, push)
            self.optimizer.step(grads, self.lr)
            resets += self.recover(loss.detach(), reliable.any(1), self.reset * unit)
        learner.load(self.network())
        return {"loss_replay": loss.detach(), "resets": resets}

    def ascent(self, grads: Sequence[Tensor]) -> list[Tensor]:
        """rho g / ||g||, the norm over all that a replica adapts."""
        norm = torch.stack([g.square().sum((1, 2)) for g in grads]).sum(0).sqrt() + 1e-12
        return [self.rho * g / norm[:, None, None] for g in grads]

    @torch.no_grad()
    def recover(self, loss: Tensor, counted: Tensor, floor: float) -> Tensor:
        """Moves the average on and sends collapsed replicas back to the source; [S] of 0 and 1."""
        moved = torch.where(self.ema.isnan(), loss, 0.9 * self.ema + 0.1 * loss)
        self.ema = torch.where(counted, moved, self.ema)
        low = self.ema < floor
        self.ema = self.ema.masked_fill(low, torch.nan)
        for p, p0, m in zip(self.free, self.first(), self.optimizer.m, strict=True):
            p.copy_(torch.where(low[:, None, None], p0, p))
            m.masked_fill_(low[:, None, None], 0)
        return low.float()


def mean_over(H: Tensor, keep: Tensor) -> Tensor:
    return (H * keep).sum(1) / keep.sum(1).clamp(min=1)
