"""Steps of made-up rows, as a component is given them."""

import torch
from torch import Tensor

from sdsl.core.contract import Pseudo, Step
from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows

SEED = 3


def learner(*sizes: int, seed: int = SEED) -> Learner:
    return Learner(sizes, Draws(seed, "init"))


class Fixed(Learner):
    """Class x_0 > 0, as sure as |x_0|."""

    def probabilities(self, x):
        right = (x[:, 0] > 0).long()[:, None]
        return torch.zeros(len(x), 2).scatter(1, right, x[:, :1].abs())


def step(gold: Rows, lookback: Rows, X: Tensor, **more) -> Step:
    given = {"t": 2, "theta": [], "draws": Draws(SEED, "batches")}
    return Step(gold=gold, lookback=lookback, X=X, **given | more)


def two_sided(stored: int = 20, gold: int = 30, label: int = 0) -> tuple[Step, Pseudo]:
    """Gold, stored rows and a segment that overlap; `label` is every pseudo-label."""
    X = Draws(SEED, "rows").normal(60, 2)
    D = Rows(X[:gold] - 1, (X[:gold, 0] > 0).long())
    kept = Rows(X[:stored] + 1, torch.full((stored,), label))
    return step(D, kept, X + 1), Pseudo(None, Rows(X + 1, torch.full((60,), label)))


def same(a: Learner, b: Learner) -> bool:
    return all(map(torch.equal, a.theta, b.theta))
