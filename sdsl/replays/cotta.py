"""CoTTA (Wang 2022): a student follows its slow teacher's averaged views; weights are restored.

min CE(teacher, student) on X_t, both normalising by the batch at hand; teacher <- a teacher +
(1 - a) student; then every student weight returns to its value after gold with probability p.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import number, setting
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, affine, gradients, graph
from sdsl.core.replica import Batches, Draws, Rows
from sdsl.core.training import Adam

Stats = list[tuple[Tensor, Tensor]]  # mean and sd of each hidden unit, [S, 1, out] each


@dataclass
class Cotta(Replay):
    steps: int = number(low=1)  # of a segment
    batch: int = number(low=2)
    lr: float = number(low=0)
    ema: float = number(low=0, high=1)
    restore: float = number(low=0, high=1)
    views: int = number(low=1)
    noise: float = number(low=0)  # sd of a view's Gaussian input noise, on scaled inputs
    sure: float = number(low=0, high=1)  # the source's mean confidence that needs no views
    batch_norm: bool = setting()  # units keep the mean and sd they had on gold, whatever the batch

    def own_units(self) -> bool:
        return True  # source, teacher and student

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.source, self.teacher = learner.copy(), learner.copy()
        self.student = [p.requires_grad_() for p in learner.copy()]
        self.optimizer = Adam(self.student)
        self.norm = source_stats(gold, self.source) if self.batch_norm else None

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        rows = Rows.unlabelled(step.X)
        viewed = torch.zeros(len(step.X))
        for x, _, _ in Batches([rows], [1.0], self.steps, self.batch, step.draws):
            with torch.no_grad():
                sureness = self.logits(x, self.source).softmax(2).amax(2).mean(1)  # [S]
                target = self.targets(x, sureness < self.sure, step.draws).softmax(2)
            log_p = self.logits(x, self.student).log_softmax(2)
            loss = -(target * log_p).sum(2).mean(1)
            self.optimizer.step(gradients(loss, self.student), self.lr)
            with torch.no_grad():
                torch._foreach_lerp_(self.teacher, self.student, 1 - self.ema)
                for p, p0 in zip(self.student, self.source, strict=True):
                    back = step.draws.uniform(*p.shape[1:]) < self.restore
                    p.copy_(torch.where(back, p0, p))
            viewed += (sureness < self.sure) / self.steps
        learner.load(folded(step.X, self.teacher, self.norm)[1])  # the teacher is what is tested
        return {"loss_replay": loss.detach(), "viewed": viewed}

    def logits(self, x: Tensor, theta: Theta, norm: Stats | None = None) -> Tensor:
        return folded(x, theta, norm or self.norm)[0]

    def targets(self, x: Tensor, unsure: Tensor, draws: Draws) -> Tensor:
        """The teacher's logits [S, b, C]; the mean over noisy views where the source is unsure."""
        logits = self.logits(x, self.teacher)
        for s in unsure.nonzero().flatten().tolist():  # a replica that is sure draws nothing
            shape = (self.views, *x.shape[1:])
            noisy = x[s] + self.noise * torch.randn(shape, generator=draws.generators[s])
            one = [
                p[s : s + 1].expand(self.views, -1, -1) for p in self.teacher
            ]  # views as replicas
            norm = self.norm and [(m[s : s + 1], sd[s : s + 1]) for m, sd in self.norm]
            logits[s] = self.logits(noisy, one, norm).mean(0)
        return logits


def folded(x: Tensor, theta: Theta, norm: Stats | None) -> tuple[Tensor, Theta]:
    """(logits of x, the parameters that give every hidden unit its gold mean and sd on x)."""
    if norm is None:
        return graph(x, theta), theta
    out = []
    for layer, (mean, sd) in zip(theta[:-1], norm, strict=True):
        z = affine(x, layer)
        shift = z.mean(1, keepdim=True)
        scale = sd / ((z - shift).square().mean(1, keepdim=True) + 1e-5).sqrt()
        x = ((z - shift) * scale + mean).relu()
        out.append(torch.cat([layer[:, :-1] * scale, (layer[:, -1:] - shift) * scale + mean], 1))
    return affine(x, theta[-1]), [*out, theta[-1]]


def source_stats(gold: Rows, theta: Theta) -> Stats:
    """Mean and sd of every hidden unit before its ReLU, on each replica's own gold rows."""
    stats = []
    for s in range(len(gold.X)):
        x, own = gold.replica(s)[0], []
        for layer in theta[:-1]:
            z = x @ layer[s, :-1] + layer[s, -1]
            own.append((z.mean(0, keepdim=True), (z.var(0, correction=0) + 1e-5).sqrt()[None]))
            x = z.relu()
        stats.append(own)
    units = (zip(*layer, strict=True) for layer in zip(*stats, strict=True))
    return [(torch.stack(mean), torch.stack(sd)) for mean, sd in units]
