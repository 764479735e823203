"""Robust pseudo-labels (paper section 3.2): Algorithm 1 whole.

Step 1     h = g(f(x)) is fitted to gold D and the lookback D_{t-1}; X_t counts as unlabelled
Eq. 3      u_c = sum_x p_c(x) f(x) / sum_x p_c(x)               prototypes from the network's p
Eq. 4      y = argmin_c 1 - cos(f(x), u_c)                      labels from prototypes
Eq. 5      u_c = mean of f(x) over y = c                        prototypes from labels
Eq. 7      R(U) = |U - H^T V|^2, V fixed by gold                invariant label semantics
Eqs. 2, 8  CE(D + D_{t-1}) + CE(X_t, y) + R(U) is descended between rounds of Eqs. 4, 5 and 7
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.core.contract import Labeler, Log, Pseudo, Step
from sdsl.core.descent import sgd
from sdsl.core.draws import Batches, Draws
from sdsl.core.kernel import Arrays, cross_entropy, cross_entropy_slope, zeros
from sdsl.core.learner import Learner
from sdsl.core.network import arrays, backward, forward, trace
from sdsl.core.rows import Rows
from sdsl.core.settings import Positive, Share, Weight, settings
from sdsl.core.training import Descent, Training


@settings
class Robust(Labeler):
    fit: Training  # step 1
    feedback: Descent  # the gradient steps of a round
    origin: Literal["fresh", "previous"]  # the parameters that step 1 starts from
    rounds: Positive  # at most
    tolerance: Share  # labels have settled: a smaller share of them changed
    semantics: Weight  # of R(U)
    ils: Literal["project", "gram", "off"]
    anchor: Weight  # how hard prototypes are pulled to the label embedding
    energy: Share  # of the label embedding's rank

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        U, _ = class_means(learner.features(gold.X), gold.y, learner.classes)
        self.projector = label_projector(U, self.energy)  # [C, C], the same at every step

    def label(self, step: Step, learner: Learner) -> Pseudo:
        log = first_fit(self.fit, self.origin, step, learner, self.weights(step, learner))
        V = self.embedding(step.gold, learner)
        f, logits = forward(step.X, learner.theta)
        y, U, m = logits.argmax(1), self.first_prototypes(f, logits), zeros(arrays(learner.theta))
        rounds, settled = 0, False
        while rounds < self.rounds and not settled:
            U = V.refine(U, self.anchor) if V else U
            new = self.assign(step, f, U, y, logits)
            settled = float((new != y).float().mean()) < self.tolerance
            y, U, rounds = new, prototypes(f, new, U), rounds + 1
            if not settled:
                log |= self.descend(step, y, V, learner, m)
                f, logits = forward(step.X, learner.theta)
        U = V.refine(U, self.anchor) if V else U
        y = self.assign(step, f, U, y, logits)
        log |= {"rounds": float(rounds), "ils_active": float(V is not None)}
        return Pseudo(y, Rows(step.X, y), log)

    def weights(self, step: Step, learner: Learner) -> list[float] | None:
        """Of gold and lookback; None: alike."""
        return None

    def first_prototypes(self, f: Tensor, logits: Tensor) -> Tensor:
        return soft_prototypes(f, logits)

    def assign(self, step: Step, f: Tensor, U: Tensor, y: Tensor, logits: Tensor) -> Tensor:
        """Labels [n] by Eq. 4; y: the labels so far."""
        return assign(f, U)

    def embedding(self, gold: Rows, learner: Learner) -> "Semantics | None":
        """The label embedding of this step; None without ILS.

        One direction for two classes would make their prototypes parallel, so `project` is off.
        """
        if self.ils == "off" or (self.ils == "project" and learner.classes < 3):
            return None
        if self.ils == "project":
            return Semantics("project", self.projector)
        # Of gold in the encoder of now, or encoder drift would pass for semantic drift.
        U, _ = class_means(learner.features(gold.X), gold.y, learner.classes)
        return Semantics("gram", gram_embedding(U))

    def descend(
        self, step: Step, y: Tensor, V: "Semantics | None", learner: Learner, m: Arrays
    ) -> Log:
        """The gradient steps of a round on L_total, by Eqs. 2 and 8; m: momentum, in place."""
        how, theta, log = self.feedback, learner.theta, dict[str, float]()
        given, weights = [step.gold, step.lookback, Rows(step.X, y)], self.weights(step, learner)
        sets, weights = how.gathered(given, weights and [*weights, 1.0])
        for x, label, w in Batches(sets, weights, how.steps, how.batch, step.draws):
            inputs, logits = trace(x, theta)
            log["loss_feedback"] = float(cross_entropy(*arrays([logits, label, w])))
            cross_entropy_slope(*arrays([logits, label, w]))  # in the place of the logits
            grads = backward(inputs, logits, theta)
            if V and self.semantics:
                inputs, logits = trace(step.X, theta)
                U, size = class_means(inputs[-1], y, learner.classes)
                penalty, slope = V.penalty(U)
                log["loss_semantics"] = self.semantics * float(penalty)
                pull = self.semantics * (slope / size[:, None].clamp(min=1))[y]  # dR/df(x) [n, m]
                more = backward(inputs, torch.zeros_like(logits), theta, pull)
                grads = [g + other for g, other in zip(grads, more, strict=True)]
            sgd(arrays(theta), m, arrays(grads), how.lr, how.momentum)
        return log


def first_fit(
    fit: Training,
    origin: Literal["fresh", "previous"],
    step: Step,
    learner: Learner,
    weights: list[float] | None = None,
) -> Log:
    """Step 1, which Ours, Ours_PL and Ours_Record share: a fit on D and D_{t-1}."""
    if origin == "fresh":
        # An encoder carried along folds the classes together where its own last labels were.
        learner.reset()
    fitted = learner.fit(fit, [step.gold, step.lookback], step.draws, weights, step.X)
    return {"loss_label": fitted.loss, "steps_label": float(fitted.steps)} if fit.steps else {}


# Eqs. 3 to 5


def soft_prototypes(f: Tensor, logits: Tensor) -> Tensor:
    """Eq. 3: softmax-weighted means [C, m] of the features f [n, m]."""
    p = logits.softmax(1)  # [n, C]
    return p.T @ f / p.sum(0)[:, None].clamp(min=1e-8)


def assign(f: Tensor, U: Tensor) -> Tensor:
    """Eq. 4: the class whose prototype is nearest in cosine distance, [n]."""
    return (F.normalize(f) @ F.normalize(U).T).argmax(1)


def prototypes(f: Tensor, y: Tensor, previous: Tensor) -> Tensor:
    """Eq. 5: the mean feature of each class; a class without members keeps its prototype."""
    U, size = class_means(f, y, len(previous))
    return torch.where(size[:, None] > 0, U, previous)


def class_means(f: Tensor, y: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """(mean feature of each class [C, m], members of each class [C])."""
    members = F.one_hot(y, classes).to(f.dtype)  # [n, C]
    size = members.sum(0)
    return members.T @ f / size[:, None].clamp(min=1), size


# Eq. 7. Prototypes are rows here, U [C, m], so H^T V stands transposed.


@dataclass(frozen=True)
class Semantics:
    """Prototypes held to the label embedding of gold.

    project  the literal reading, the span of V: for given U the best H^T V is P U, P the projector
             on the row space of V [C, C]
    gram     prototypes keep gold's mutual angles and lengths up to a rotation: V = S Q^T of gold's
             prototypes, H orthonormal (orthogonal Procrustes). Not empty for two classes
    """

    reading: Literal["project", "gram"]
    V: Tensor  # P, or V^T [C, C]

    def fitted(self, U: Tensor) -> Tensor:
        """H^T V at the best H [C, m]."""
        if self.reading == "project":
            return self.V @ U
        A, _, B = torch.linalg.svd(U.T @ self.V, full_matrices=False)
        return self.V @ (A @ B).T

    def refine(self, E: Tensor, anchor: float) -> Tensor:
        """argmin_U |U - E|^2 + anchor |U - H^T V|^2, in closed form."""
        return (E + anchor * self.fitted(E)) / (1 + anchor)

    def penalty(self, U: Tensor) -> tuple[Tensor, Tensor]:
        """(R(U) = |U - H^T V|^2 / (m C), dR/dU at the best H [C, m])"""
        gap = U - self.fitted(U)
        return gap.square().mean(), gap * (2 / gap.numel())


def label_projector(U: Tensor, energy: float) -> Tensor:
    """P [C, C] on the row space of V, from gold's prototypes U [C, m].

    V holds the leading label-side singular vectors of U: as few as carry `energy` of the squared
    singular values, and at most C - 1, since C would make the constraint empty.
    """
    left, values, _ = torch.linalg.svd(U.double())
    share = values.square().cumsum(0) / values.square().sum().clamp(min=1e-30)
    V = left[:, : min(int((share < energy).sum()) + 1, len(U) - 1)]
    return (V @ V.T).to(U.dtype)


def gram_embedding(U: Tensor) -> Tensor:
    """V^T = Q S [C, C] with U U^T = Q S^2 Q^T."""
    values, Q = torch.linalg.eigh(U.double() @ U.double().T)
    return (Q * values.clamp(min=0).sqrt()).to(U.dtype)
