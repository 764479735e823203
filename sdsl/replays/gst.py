"""Gradual self-training (Kumar 2020): a warm, regularised fit on this segment's hard labels alone.

min over theta of mean CE(X_t, y_t) under dropout on f, + l2 ||W||^2; neither gold nor lookback.
"""

import math
from dataclasses import dataclass

import torch

from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import number
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, affine, backward, cross_entropy, cross_entropy_slope, trace
from sdsl.core.replica import Batches
from sdsl.core.training import Adam


@dataclass
class Gst(Replay):
    epochs: int = number(low=1)
    batch: int = number(low=1)
    lr: float = number(low=0)
    dropout: float = number(low=0, high=0.99)  # of the last hidden layer
    l2: float = number(low=0)  # on the weights, not on the biases

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        rows = pseudo.rows
        # Epochs of the whole segment: what is kept differs between replicas, steps must not.
        steps = math.ceil(self.epochs * step.X.shape[1] / self.batch)
        optimizer = Adam(learner.theta)
        for x, y, w in Batches([rows], [1.0], steps, self.batch, step.draws):
            with torch.no_grad():
                inputs, theta = trace(x, learner.theta)[0], self.thinned(learner.theta)
                inputs[-1] *= step.draws.uniform(*inputs[-1].shape[1:]) >= self.dropout
                logits = affine(inputs[-1], theta[-1])
                loss = cross_entropy(logits, y, w)
                grads = backward(inputs, cross_entropy_slope(logits, y, w), theta)
                grads[-1][:, :-1] /= 1 - self.dropout
                for g, layer in zip(grads, learner.theta, strict=True):
                    g[:, :-1] += 2 * self.l2 * layer[:, :-1]
            optimizer.step(grads, self.lr)
        return {"loss_replay": loss, "kept": rows.count / step.X.shape[1]}

    def thinned(self, theta: Theta) -> Theta:
        """The head makes up for the units that dropout takes from it."""
        head = torch.cat([theta[-1][:, :-1] / (1 - self.dropout), theta[-1][:, -1:]], 1)
        return [*theta[:-1], head]
