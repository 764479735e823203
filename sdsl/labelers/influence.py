"""RECORD (Guo et al., KDD 2020): pseudo-label, detect shift, restore a buffer by influence.

A class's rows, by confidence: in_c (overlap) | out_c (shifted). IF(x), x in in_c, on the loss over
out_c ranks what enters the class's first-in first-out queue. The equation of IF is in
sdsl/algorithms/influence_function.py.
"""

from copy import copy
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sdsl.algorithms.influence_function import influence, logistic
from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.fields import number, setting
from sdsl.core.learner import Learner
from sdsl.core.network import layer_sizes
from sdsl.core.replica import Rows
from sdsl.core.training import Training


@dataclass
class Influence(Labeler):
    size: int = number(low=1)  # B, shared evenly by the classes' queues
    cut: float = number(low=0, high=1)  # only in the released code: rows below it are ignored
    strength: float = number(low=0)  # C = strength / n of the logistic problem
    code_parity: bool = setting()  # the released code's s(+y th.x) for the training gradient
    keep_gold: bool = setting()  # D stays outside the queues and is never evicted
    refit: bool = setting()  # a fresh network labels X_t; false: the learner, as replay left it
    hidden: list[int] | None = setting()  # widths of that network; null: the learner's
    fit: Training = setting()

    long_memory = True

    def label(self, step: Step, learner: Learner) -> Pseudo:
        stored = step.lookback
        if not self.keep_gold and not stored.X.shape[1]:
            stored = step.gold  # the first step: D fills the queues
        if self.refit:
            learner = self.generator(step, stored, learner)
        p, y = learner.probabilities(step.X).max(2)  # [S, n] each
        S, n = y.shape
        u = step.draws.uniform(2, learner.classes, n)  # one shape for all replicas, used or not
        queues = [Queues(*stored.replica(s)) for s in range(S)]
        log = torch.tensor([self.refill(queues[s], step.X[s], p[s], y[s], u[s]) for s in range(S)])
        rows = Rows.ragged([q.rows(step.X[s]) for s, q in enumerate(queues)])
        return Pseudo(
            y,
            fixed_width(rows, self.size),
            {"pushed": log[:, 0], "classes_by_confidence": log[:, 1], "stored": rows.count},
        )

    def generator(self, step: Step, stored: Rows, learner: Learner) -> Learner:
        """A mean teacher trained from scratch on the stored set, X_t unlabelled."""
        own = copy(learner)  # shares the initialisation generators, not the parameters
        if self.hidden is not None:
            own.sizes = layer_sizes(learner.sizes[0], self.hidden, learner.classes)
        own.reset()
        # RECORD divides the mean squared gap by C once more.
        how = replace(self.fit, consistency=self.fit.consistency / learner.classes)
        sets = [step.gold, stored] if self.keep_gold else [stored]
        own.fit(how, sets, step.draws, unlabelled=step.X)
        return own

    def refill(self, queues: "Queues", X: Tensor, p: Tensor, y: Tensor, u: Tensor) -> tuple:
        """One replica: push each class's best rows, worst first; (rows, classes by confidence)."""
        classes = y.unique().tolist()
        # RECORD counts the predicted classes only; one that is still held needs its share too.
        capacity = max(1, self.size // len(queues.classes | set(classes)))
        halves = {c: split(p, y == c, self.cut) for c in classes}
        pushed = fallbacks = 0
        for c in classes:
            near, far = halves[c]  # row numbers in X, most confident first
            rest = [halves[k] for k in classes if k != c] or [(near[:0], near[:0])]
            rest_near, rest_far = (torch.cat(half) for half in zip(*rest, strict=True))
            if min(len(near), len(far), len(rest_near), len(rest_far)):
                train = torch.cat([near, pick(rest_near, len(near), u[0, c])])
                test = torch.cat([far, pick(rest_far, len(far), u[1, c])])
                score = self.influence(X[train], X[test])
                best = near[score.argsort(descending=True, stable=True)][: int((score > 0).sum())]
            else:
                best, fallbacks = torch.cat([near, far]), fallbacks + 1
            best = best[:capacity]
            queues.push(c, X[best.flip(0)])
            pushed += len(best)
        queues.evict(capacity)
        return pushed, fallbacks

    def influence(self, train: Tensor, test: Tensor) -> Tensor:
        """IF of the first half of train, the class's own rows; the second halves are the rest."""
        both = torch.cat([train, test]).double()
        scale = both.std(0, correction=0)
        both = (both - both.mean(0)) / torch.where(scale > 1e-9, scale, 1.0)
        train, test = both[: len(train)], both[len(train) :]
        a, b = signs(len(train)), signs(len(test))
        theta = logistic(train, a, self.strength)
        return influence(theta, train, a, test, b, self.code_parity)[: len(train) // 2]


class Queues:
    """One replica's buffer: a first-in first-out queue a class, oldest row first."""

    def __init__(self, X: Tensor, y: Tensor):
        self.held = {c: X[y == c] for c in y.unique().tolist()}

    @property
    def classes(self) -> set[int]:
        return set(self.held)

    def push(self, c: int, X: Tensor) -> None:
        self.held[c] = torch.cat([self.held.get(c, X[:0]), X])

    def evict(self, capacity: int) -> None:
        """The oldest go first, gold rows among them (RECORD's Eq. 7)."""
        self.held = {c: X[-capacity:] for c, X in self.held.items()}

    def rows(self, like: Tensor) -> tuple[Tensor, Tensor]:
        parts = sorted(self.held.items())
        X = torch.cat([X for _, X in parts]) if parts else like[:0]
        y = [torch.full((len(X),), c, dtype=torch.long) for c, X in parts]
        return X, torch.cat(y) if y else torch.zeros(0, dtype=torch.long)


def split(p: Tensor, mine: Tensor, cut: float) -> tuple[Tensor, Tensor]:
    """(overlap, shifted): the more and the less confident half of a class's rows above the cut."""
    rows = torch.nonzero(mine & (p > cut)).squeeze(1)
    rows = rows[p[rows].argsort(descending=True, stable=True)]
    return rows[: len(rows) // 2], rows[len(rows) // 2 :]


def pick(pool: Tensor, m: int, u: Tensor) -> Tensor:
    """m random rows of the pool; with repetition where it is too small."""
    if len(pool) < m:
        return pool[(u[:m] * len(pool)).long().clamp(max=len(pool) - 1)]
    return pool[u[: len(pool)].argsort(stable=True)[:m]]


def signs(n: int) -> Tensor:
    """+1 for the first half, -1 for the second."""
    return torch.cat([torch.ones(n // 2), -torch.ones(n - n // 2)]).double()


def fixed_width(rows: Rows, n: int) -> Rows:
    """Padded to n rows, so that no shape depends on which other replicas run."""
    S, k, d = rows.X.shape
    X = torch.cat([rows.X, rows.X.new_zeros(S, max(0, n - k), d)], 1)
    return Rows(X, torch.cat([rows.y, rows.y.new_zeros(S, max(0, n - k))], 1), rows.count)
