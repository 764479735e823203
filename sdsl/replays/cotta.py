"""CoTTA (Wang 2022): a student follows its slow teacher's averaged views; weights are restored.

min CE(teacher, student) on X_t, both normalising by the batch at hand; teacher <- a teacher +
(1 - a) student; then every student weight returns to its value after gold with probability p.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.descent import adam
from sdsl.core.draws import Batches, Draws
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, affine, arrays, graph, wrong_shapes
from sdsl.core.rows import Rows
from sdsl.core.settings import Positive, Share, Weight, settings

Stats = list[tuple[Tensor, Tensor]]  # mean [1, out] and sd [1, out] of each hidden unit


@settings
class Cotta(Replay):
    steps: Positive  # per segment
    batch: Annotated[int, Field(ge=2)]
    lr: Weight  # of Adam
    ema: Share
    restore_share: Share  # p
    views: Positive
    noise: Weight  # sd of a view's Gaussian input noise, on scaled inputs
    sure: Share  # the source's mean confidence that needs no views
    batch_norm: bool  # units keep the mean and sd they had on gold, whatever the batch

    own_units = True  # source, teacher and student

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.source, self.teacher, self.student = (learner.copy() for _ in range(3))
        self.m, self.v = ([torch.zeros_like(p) for p in self.source] for _ in range(2))
        self.taken = 0  # steps of Adam
        self.norm = source_stats(gold.X, self.source) if self.batch_norm else None

    def restore(self, state: Mapping[str, Any], gold: Rows, learner: Learner) -> None:
        super().restore(state, gold, learner)
        for net in (self.source, self.teacher, self.student, self.m, self.v):
            if found := wrong_shapes(net, learner.sizes):
                raise ValueError(found)

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        viewed, loss, rows = 0, torch.zeros(()), Rows.unlabelled(step.X)
        for x, _, _ in Batches([rows], [1.0], self.steps, self.batch, step.draws):
            unsure = float(self.logits(x, self.source).softmax(1).amax(1).mean()) < self.sure
            target = self.targets(x, unsure, step.draws).softmax(1)
            student = [p.detach().requires_grad_() for p in self.student]  # the same memory
            loss = -(target * self.logits(x, student).log_softmax(1)).sum(1).mean()
            grads, self.taken = torch.autograd.grad(loss, student), self.taken + 1
            parts = (arrays(part) for part in (self.student, self.m, self.v, grads))
            adam(*parts, self.lr, self.taken)
            torch._foreach_lerp_(self.teacher, self.student, 1 - self.ema)
            for p, p0 in zip(self.student, self.source, strict=True):
                back = step.draws.uniform(*p.shape) < self.restore_share
                p.copy_(torch.where(back, p0, p))
            viewed += unsure
        learner.load(folded(step.X, self.teacher, self.norm)[1])  # the teacher is what is tested
        return {"loss_replay": float(loss.detach()), "viewed": viewed / self.steps}

    def logits(self, x: Tensor, theta: Theta) -> Tensor:
        return folded(x, theta, self.norm)[0]

    def targets(self, x: Tensor, unsure: bool, draws: Draws) -> Tensor:
        """The teacher's logits [b, C]; the mean over noisy views where the source is unsure."""
        if not unsure:
            return self.logits(x, self.teacher)
        noise = self.noise * draws.normal(self.views, *x.shape)
        return torch.stack([self.logits(x + e, self.teacher) for e in noise]).mean(0)


def folded(x: Tensor, theta: Theta, norm: Stats | None) -> tuple[Tensor, Theta]:
    """(logits of x, the parameters that give every hidden unit its gold mean and sd on x)."""
    if norm is None:
        return graph(x, theta), theta
    out = []
    for layer, (mean, sd) in zip(theta[:-1], norm, strict=True):
        z = affine(x, layer)
        shift, spread = z.mean(0), (z.var(0, correction=0) + 1e-5).sqrt()
        out.append(torch.cat([layer[:-1], layer[-1:] - shift]) * (sd / spread))
        out[-1][-1] += mean
        x = affine(x, out[-1]).relu()
    return affine(x, theta[-1]), [*out, theta[-1]]


def source_stats(x: Tensor, theta: Theta) -> Stats:
    """Mean and sd of every hidden unit before its ReLU, on gold rows."""
    stats = []
    for layer in theta[:-1]:
        z = affine(x, layer)
        stats.append((z.mean(0), (z.var(0, correction=0) + 1e-5).sqrt()))
        x = z.relu()
    return stats
