"""Robust pseudo-labels (paper section 3.2, Algorithm 1): supervised fit, prototypes, semantics.

u_c = sum p_c(x) f(x) / sum p_c(x);  y = argmin_c 1 - cos(f(x), u_c);  u_c = mean of f over y = c,
repeated to convergence while L = CE(D) + CE(D_{t-1}) + CE(X_t, y) + R(U) updates the encoder.
With shares=estimated prototypes are means over the classifier's labels from the start (p leaks from
a large class into the prototype of a small one), and y weighs classes by their shares.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.algorithms.feedback import Feedback
from sdsl.algorithms.semantics import class_means, is_off, semantics
from sdsl.algorithms.shares import assign_by_shares, counted, stands_for
from sdsl.algorithms.trust import Trust
from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.fields import choice, number, setting
from sdsl.core.learner import Learner
from sdsl.core.network import forward
from sdsl.core.replica import Batches, Draws, Rows
from sdsl.core.training import Training

TERMS = ("loss_gold", "loss_lookback", "loss_pseudo")


@dataclass
class Robust(Labeler):
    fit: Training = setting()  # step 1, on gold and lookback
    feedback: Training = setting()  # a round's gradient steps on L
    origin: str = choice("fresh", "previous")  # what step 1 starts from
    rounds: int = number(low=1)
    tolerance: float = number(low=0, high=1)  # converged: a smaller share of labels changed
    trust: Trust = setting()  # how gold's weight falls
    gold: float = number(low=0)  # the weight of each term of L
    lookback: float = number(low=0)
    pseudo: float = number(low=0)
    semantics: float = number(low=0)
    ils: str = choice("project", "gram", "off")
    anchor: float = number(low=0)  # how hard prototypes are pulled to the label embedding
    energy: float = number(low=0, high=1)  # of the label embedding's rank
    center: str = choice("prototypes", "segment", "origin")  # where cosines are measured from
    shares: str = choice("estimated", "equal")  # of the classes; equal: the paper's
    share: float = number(low=0)  # segments that the last shares stand for

    def reduces_to(self, classes: int) -> dict[str, str]:
        return {"ils": "off"} if is_off(self.ils, classes) else {}

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        f = learner.features(gold.X)
        self.label_semantics = semantics(self.ils, gold, f, learner.classes, self.energy)
        size = counted(gold.y, learner.classes, gold.mask)
        self.last_shares = size / size.sum(1, keepdim=True)  # [S, C]

    @torch.no_grad()
    def label(self, step: Step, learner: Learner) -> Pseudo:
        kept = self.trust(step, learner.classes)
        before = self.share * stands_for(step)[:, None] * self.last_shares
        # What gold loses the lookback gains: the supervised terms weigh the same at every step.
        weights: list[float | Tensor]
        weights = [self.gold * kept, self.lookback + self.gold * (1 - kept)]
        if self.origin == "fresh":
            # Algorithm 1 asks for random parameters. An encoder carried along folds the classes
            # together where its own last labels were; a new one keeps the geometry of X_t.
            learner.reset()
        learner.fit(self.fit, [step.gold, step.lookback], step.draws, weights, step.X)
        self.label_semantics.update(step.gold, learner.features(step.gold.X))
        f, logits = forward(step.X, learner.theta)
        U, y = soft_prototypes(f, logits), logits.argmax(2)
        if self.shares == "estimated":
            U = prototypes(f, y, U)
        S, n = y.shape
        # All rounds' batches are drawn before the first, so that a replica that converges early
        # draws as many numbers as one that does not.
        sets = [step.gold, step.lookback, Rows.full(step.X, y)]
        how, all_weights = self.feedback, [*weights, self.pseudo]
        batches = Batches(sets, all_weights, self.rounds * how.steps, how.batch, step.draws)
        widths = [how.batch or rows.X.shape[1] for rows in sets]
        feedback = Feedback(learner, how, batches, widths)
        running, rounds = torch.ones(S, dtype=torch.bool), torch.zeros(S)
        # A replica that takes no step pays no loss; it says so alone as it does beside others.
        active = self.label_semantics.active and self.semantics
        names = [*TERMS, "loss_semantics"] if active else TERMS
        log = {name: torch.zeros(S) for name in names}
        for _ in range(self.rounds):
            f, logits = forward(step.X, learner.theta)
            refined = self.label_semantics.refine(U, self.anchor)
            new, _ = self.assign(f, refined, y, logits, kept, before)
            changed = (new != y).float().mean(1)
            y = torch.where(running[:, None], new, y)
            U = torch.where(running[:, None, None], prototypes(f, y, refined), U)
            rounds += running
            running = running & (changed >= self.tolerance)
            if not running.any():
                break
            batches.y[:, -n:] = y
            paid = feedback.round(running, step.X, y, self.label_semantics, self.semantics)
            for name, term in zip(log, paid.unbind(1), strict=False):
                log[name] = torch.where(running, term, log[name])
        U = self.label_semantics.refine(U, self.anchor)
        f, logits = forward(step.X, learner.theta)
        y, self.last_shares = self.assign(f, U, y, logits, kept, before)
        ils = torch.full((S,), float(self.label_semantics.active))
        log |= {"rounds": rounds, "ils_active": ils, "gold_trust": kept}
        return Pseudo(y, Rows.full(step.X, y), log)

    def assign(
        self, f: Tensor, U: Tensor, y: Tensor, logits: Tensor, kept: Tensor, before: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Eq. 4, with or without shares, and the shares [S, C]; y: the labels so far."""
        if self.shares == "estimated":
            return assign_by_shares(f, U, y, logits, kept, before)
        return assign(f, U, self.center), self.last_shares


def soft_prototypes(f: Tensor, logits: Tensor) -> Tensor:
    """Eq. 3: softmax-weighted feature means, [S, C, m]."""
    p = logits.softmax(2)  # [S, n, C]
    return p.transpose(1, 2) @ f / p.sum(1)[:, :, None].clamp(min=1e-8)


def assign(f: Tensor, U: Tensor, center: str) -> Tensor:
    """Eq. 4: the class whose prototype is nearest in cosine distance, [S, n]."""
    if center != "origin":
        # ReLU features share one orthant; between the prototypes, class sizes have no say.
        origin = (U if center == "prototypes" else f).mean(1, keepdim=True)
        f, U = f - origin, U - origin
    return (F.normalize(f, dim=2) @ F.normalize(U, dim=2).transpose(1, 2)).argmax(2)


def prototypes(f: Tensor, y: Tensor, previous: Tensor) -> Tensor:
    """Eq. 5: the mean feature of each class; a class without members keeps its prototype."""
    U, size = class_means(f, y, previous.shape[1])
    return torch.where(size > 0, U, previous)
