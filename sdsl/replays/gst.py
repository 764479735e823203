"""Gradual self-training (Kumar 2020): a warm, regularised fit on this segment's hard labels alone.

min over theta of mean CE(X_t, y_t) under dropout on f, + l2 ||W||^2; neither gold nor lookback.
"""

import math
from dataclasses import dataclass

from torch import Tensor

from sdsl.component import number
from sdsl.contract import Pseudo, Replay, Step
from sdsl.learner import Learner, Optimizer, Training, cross_entropy, forward, gradients
from sdsl.replica import Batches


@dataclass
class Gst(Replay):
    epochs: int = number(10, low=1)
    batch: int = number(32, low=1)
    lr: float = number(0.001, low=0)
    dropout: float = number(0.5, low=0, high=0.99)  # of the last hidden layer
    l2: float = number(0.0, low=0)  # on the weights, not on the biases

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        rows = pseudo.rows
        steps = math.ceil(
            self.epochs * step.X.shape[1] / self.batch
        )  # of X_t, so the same for all S
        optimizer = Optimizer(learner.theta, Training(optimizer="adam", lr=self.lr))
        for x, y, w in Batches([rows], [1.0], steps, self.batch, step.draws):
            f, logits = forward(x, learner.theta)
            if self.dropout:
                keep = step.draws.uniform(*f.shape[1:]) >= self.dropout
                head = learner.theta[-1]
                logits = f * keep / (1 - self.dropout) @ head[:, :-1] + head[:, -1:]
            loss = cross_entropy(logits, y, w)
            if self.l2:
                loss = loss + self.l2 * sum(squares(layer) for layer in learner.theta)
            optimizer.step(gradients(loss, learner.theta))
        return {"loss_replay": loss.detach(), "kept": rows.count / step.X.shape[1]}


def squares(layer: Tensor) -> Tensor:
    return layer[:, :-1].square().sum((1, 2))  # [S]
