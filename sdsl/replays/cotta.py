"""CoTTA (Wang 2022): a student follows its slow teacher's averaged views; weights are restored.

min CE(teacher, student) on X_t; teacher <- a teacher + (1 - a) student; then every student weight
returns to its value after gold with probability p. The teacher is the model that is tested.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.component import number
from sdsl.contract import Pseudo, Replay, Step
from sdsl.learner import Learner, Optimizer, Training, backward, forward, trace
from sdsl.replica import Batches, Draws, Rows


@dataclass
class Cotta(Replay):
    steps: int = number(50, low=1)  # of a segment
    batch: int = number(64, low=1)
    lr: float = number(0.001, low=0)
    ema: float = number(0.999, low=0, high=1)
    restore: float = number(0.01, low=0, high=1)
    views: int = number(32, low=1)
    noise: float = number(0.1, low=0)  # sd of a view's Gaussian input noise, on scaled inputs
    sure: float = number(0.92, low=0, high=1)  # the source's mean confidence that needs no views

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.source = learner.copy()
        self.student = learner.copy()
        self.optimizer = Optimizer(self.student, Training(optimizer="adam", lr=self.lr))

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        rows = Rows.full(step.X, torch.zeros(step.X.shape[:2], dtype=torch.long))  # labels unused
        viewed = torch.zeros(len(step.X))
        teacher = learner.theta  # so that learner.predict is the teacher's
        for x, _, _ in Batches([rows], [1.0], self.steps, self.batch, step.draws):
            with torch.no_grad():
                unsure = forward(x, self.source)[1].softmax(2).amax(2).mean(1) < self.sure  # [S]
                target = self.targets(x, teacher, unsure, step.draws).softmax(2)
                inputs, logits = trace(x, self.student)
                slope = (logits.softmax(2) - target) / self.batch
                self.optimizer.step(backward(inputs, slope, self.student))
                torch._foreach_lerp_(teacher, self.student, 1 - self.ema)
                for p, p0 in zip(self.student, self.source, strict=True):
                    back = step.draws.uniform(*p.shape[1:]) < self.restore
                    p.copy_(torch.where(back, p0, p))
            viewed += unsure / self.steps
        loss = -(target * logits.log_softmax(2)).sum(2).mean(1)
        return {"loss_replay": loss, "viewed": viewed}

    def targets(self, x: Tensor, theta, unsure: Tensor, draws: Draws) -> Tensor:
        """The teacher's logits [S, b, C]; the mean over noisy views where the source is unsure."""
        logits = forward(x, theta)[1]
        for s in unsure.nonzero().flatten().tolist():  # a replica that is sure draws nothing
            shape = (self.views, *x.shape[1:])
            noisy = x[s] + self.noise * torch.randn(shape, generator=draws.generators[s])
            one = [layer[s : s + 1] for layer in theta]
            logits[s] = forward(noisy.flatten(0, 1)[None], one)[1].view(*shape[:2], -1).mean(0)
        return logits
