"""Robust pseudo-labels (paper section 3.2, Algorithm 1): supervised fit, prototypes, semantics.

u_c = sum p_c(x) f(x) / sum p_c(x);  y = argmin_c 1 - cos(f(x), u_c);  u_c = mean of f over y = c,
repeated to convergence while L = CE(D) + CE(D_{t-1}) + CE(X_t, y) + R(U) updates the encoder.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.component import choice, number
from sdsl.contract import Labeler, Pseudo, Step
from sdsl.learner import Learner, Optimizer, Training, forward, gradients
from sdsl.replica import Batches, Draws, Rows
from sdsl.semantics import class_means, semantics


@dataclass
class Robust(Labeler):
    fit: Training = field(default_factory=Training)  # step 1, on gold and lookback
    feedback: Training = field(default_factory=Training)  # a round's gradient steps on L
    rounds: int = number(10, low=1)
    tolerance: float = number(0.001, low=0, high=1)  # converged: a smaller share of labels changed
    gold: float = number(1.0, low=0)  # the weight of each term of L
    lookback: float = number(1.0, low=0)
    pseudo: float = number(1.0, low=0)
    semantics: float = number(1.0, low=0)
    ils: str = choice("project", "gram", "off")
    anchor: float = number(1.0, low=0)  # how hard prototypes are pulled to the label embedding
    energy: float = number(0.95, low=0, high=1)  # of the label embedding's rank

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        f = learner.features(gold.X)
        self.label_semantics = semantics(self.ils, gold, f, learner.classes, self.energy)

    def label(self, step: Step, learner: Learner) -> Pseudo:
        weights = [self.gold, self.lookback]
        learner.fit(self.fit, [step.gold, step.lookback], step.draws, weights, step.X)
        self.label_semantics.update(step.gold, learner.features(step.gold.X))
        with torch.no_grad():
            f, logits = forward(step.X, learner.theta)
        U, y = soft_prototypes(f, logits), logits.argmax(2)
        S, n = y.shape
        # All rounds' batches are drawn before the first, so that a replica that converges early
        # draws as many numbers as one that does not.
        sets = [step.gold, step.lookback, Rows.full(step.X, y)]
        how, weights = self.feedback, [*weights, self.pseudo]
        batches = Batches(sets, weights, self.rounds * how.steps, how.batch, step.draws)
        stream = iter(batches)
        optimizer = Optimizer(learner.theta, how)
        running, rounds = torch.ones(S, dtype=torch.bool), torch.zeros(S)
        log = {}
        for _ in range(self.rounds):
            f = learner.features(step.X)
            U = self.label_semantics.refine(U, self.anchor)
            new = assign(f, U)
            changed = (new != y).float().mean(1)
            y = torch.where(running[:, None], new, y)
            U = torch.where(running[:, None, None], prototypes(f, y, U), U)
            rounds += running
            running = running & (changed >= self.tolerance)
            if not running.any():
                break
            batches.y[:, -n:] = y
            frozen = learner.copy()
            for _ in range(how.steps):
                log = self.update(learner, optimizer, next(stream), step.X, y)
            with torch.no_grad():  # a converged replica stays where it converged
                for p, old in zip(learner.theta, frozen, strict=True):
                    p.copy_(torch.where(running[:, None, None], p, old))
        U = self.label_semantics.refine(U, self.anchor)
        y = assign(learner.features(step.X), U)
        active = torch.full((S,), float(self.label_semantics.active))
        return Pseudo(y, Rows.full(step.X, y), log | {"rounds": rounds, "ils_active": active})

    def update(self, learner: Learner, optimizer: Optimizer, batch, X: Tensor, y: Tensor) -> dict:
        """One gradient step on L_total; returns its terms."""
        x, target, w = batch
        log_p = forward(x, learner.theta)[1].log_softmax(2)
        rows = -log_p.gather(2, target[:, :, None]).squeeze(2) * w
        terms = dict(zip(("loss_gold", "loss_lookback", "loss_pseudo"), rows.chunk(3, 1), strict=True))
        terms = {name: part.sum(1) for name, part in terms.items()}
        if self.label_semantics.active and self.semantics:
            f = forward(X, learner.theta)[0]
            U, size = class_means(f, y, learner.classes)
            penalty = self.label_semantics.penalty(U * (size > 0))
            terms["loss_semantics"] = self.semantics * penalty
        loss = torch.stack(list(terms.values())).sum(0)
        optimizer.step(gradients(loss, learner.theta))
        return {name: term.detach() for name, term in terms.items()}


def soft_prototypes(f: Tensor, logits: Tensor) -> Tensor:
    """Eq. 3: softmax-weighted feature means, [S, C, m]."""
    p = logits.softmax(2)  # [S, n, C]
    return p.transpose(1, 2) @ f / p.sum(1)[:, :, None].clamp(min=1e-8)


def assign(f: Tensor, U: Tensor) -> Tensor:
    """Eq. 4: the class whose prototype is nearest in cosine distance, [S, n]."""
    return (F.normalize(f, dim=2) @ F.normalize(U, dim=2).transpose(1, 2)).argmax(2)


def prototypes(f: Tensor, y: Tensor, previous: Tensor) -> Tensor:
    """Eq. 5: the mean feature of each class; a class without members keeps its prototype."""
    U, size = class_means(f, y, previous.shape[1])
    return torch.where(size > 0, U, previous)
