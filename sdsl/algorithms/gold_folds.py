"""Cross-validation on gold: may a mixture of Gaussians stand in for the network?"""

from collections.abc import Sequence

import torch
from torch import Tensor

from sdsl.algorithms.mixture import by_class
from sdsl.algorithms.present import fit
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.core.training import Training

FOLDS = 4
PARTS = (1, 2, 4)  # components per class that are tried
WORST = -1e3  # a row's log density counts no less


def out_of_fold(
    gold: Rows, learner: Learner, how: Training, draws: Draws
) -> tuple[Tensor, list[list[Tensor]]]:
    """(labels of gold by networks that have not seen them [S, n], those networks' parameters).

    The learner stays as it is.
    """
    theta, teacher = learner.copy(), [p.clone() for p in learner.teacher]
    place, nets = torch.arange(gold.X.shape[1]) % FOLDS, []
    for fold in range(FOLDS):
        learner.reset()
        learner.fit(how, [gold.where((place != fold).expand_as(gold.y))], draws)
        nets.append(learner.copy())
    y = by_turns(gold.X, nets, learner)
    learner.load(theta)
    learner.teacher = teacher
    return y, nets


def by_turns(X: Tensor, nets: Sequence[list[Tensor]], learner: Learner) -> Tensor:
    """Labels [S, n] of rows X [S, n, d], row i by network i mod FOLDS; the learner lends its shape.

    So rows of X are labelled as gold's own are: each by a network of three quarters of gold.
    """
    now, y = learner.copy(), torch.zeros(X.shape[:2], dtype=torch.long)
    for fold, theta in enumerate(nets):
        learner.load(theta)
        y[:, fold::FOLDS] = learner.probabilities(X[:, fold::FOLDS]).argmax(2)
    learner.load(now)
    return y


def best_parts(X: Tensor, y: Tensor, classes: int) -> tuple[int, Tensor]:
    """(components per class of the best density, its out-of-fold labels [n]) of gold rows."""
    found: dict[int, tuple[float, Tensor]] = {}
    for parts in PARTS:
        score, labels = 0.0, torch.zeros_like(y)
        for fold in range(FOLDS):
            out = torch.arange(len(y)) % FOLDS == fold
            if out.all() or not out.any():
                continue
            mixture = fit(X[~out], y[~out], classes, parts)
            joint = by_class(mixture.joint(X[out]), mixture.owner, classes)
            labels[out] = joint.argmax(1)
            score += float(joint.gather(1, y[out, None]).clamp(min=WORST).sum())
        found[parts] = score, labels
    parts = max(found, key=lambda k: (found[k][0], -k))
    return parts, found[parts][1]
