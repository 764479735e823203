"""Cross-validation on gold: may a mixture of Gaussians stand in for the network?"""

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


def out_of_fold(gold: Rows, learner: Learner, how: Training, draws: Draws) -> Tensor:
    """Labels of gold by networks that have not seen them: [S, n]. The learner stays as it is."""
    theta, teacher = learner.copy(), [p.clone() for p in learner.teacher]
    place = torch.arange(gold.X.shape[1]).expand_as(gold.y) % FOLDS
    y = torch.zeros_like(gold.y)
    for fold in range(FOLDS):
        learner.reset()
        learner.fit(how, [gold.where(place != fold)], draws)
        y = torch.where(place == fold, learner.probabilities(gold.X).argmax(2), y)
    learner.load(theta)
    learner.teacher = teacher
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
