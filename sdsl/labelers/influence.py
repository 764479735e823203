"""RECORD (Guo et al., KDD 2020): pseudo-label, detect shift, restore a buffer by influence.

A class's rows, by confidence: in_c (overlap) | out_c (shifted). On the logistic problem of in_c
against rows of the other classes' in, with their outs as test rows,

IF(x) = mean_te y_te s(-y_te th.x_te) s(-y th.x) y x_te' H^-1 x         (Eq. 5; s: logistic)

is how much up-weighting the training row x lowers the test loss. Rows with IF > 0 enter the class's
first-in first-out queue, the most influential last.
"""

from dataclasses import replace

import torch
from torch import Tensor

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import Positive, Share, Weight, settings
from sdsl.core.training import Training
from sdsl.labelers.robust import first_fit

Queues = dict[int, Tensor]  # by class: rows [k, d], the oldest first


@settings
class Influence(Labeler):
    size: Positive  # B, shared evenly by the classes' queues
    cut: Share  # only in the released code: rows below it are ignored
    strength: Weight  # C = strength / n of the logistic problem
    code_parity: bool  # the released code's s(+y th.x) for the training gradient
    keep_gold: bool  # D stays outside the queues and is never evicted
    fit: Training | None  # of a new network that labels X_t; None: the learner labels as it is

    long_memory = True

    def label(self, step: Step, learner: Learner) -> Pseudo:
        stored, log = step.lookback, dict[str, float]()
        if not self.keep_gold and not len(stored):
            stored = step.gold  # the first step: D fills the queues
        if self.fit:
            known = step if self.keep_gold else replace(step, gold=stored, lookback=stored[:0])
            log = first_fit(self.fit, "fresh", known, learner)
        p, y = learner.probabilities(step.X).max(1)  # [n] each
        u = step.draws.uniform(2, learner.classes, len(y))  # as many, whether used or not
        queues = {c: stored.X[stored.y == c] for c in stored.y.unique().tolist()}
        log |= self.refill(queues, step.X, p, y, u)
        kept = [Rows(X, torch.full((len(X),), c)) for c, X in sorted(queues.items())]
        rows = Rows.cat(*kept) if kept else stored
        return Pseudo(y, rows, log | {"stored": float(len(rows))})

    def refill(
        self, queues: Queues, X: Tensor, p: Tensor, y: Tensor, u: Tensor
    ) -> dict[str, float]:
        """Push each class's best rows, worst first, and evict the oldest, gold among them (Eq. 7).

        p, y [n]: confidence and label of X. u [2, C, n]: uniform, to pick rows of other classes.
        """
        classes = y.unique().tolist()
        # RECORD counts the predicted classes only; one that still has rows needs its share too.
        capacity = max(1, self.size // len(queues.keys() | set(classes)))
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
            queues[c] = torch.cat([queues.get(c, X[:0]), X[best.flip(0)]])
            pushed += len(best)
        for c, rows in queues.items():
            queues[c] = rows[-capacity:]
        return {"pushed": float(pushed), "classes_by_confidence": float(fallbacks)}

    def influence(self, train: Tensor, test: Tensor) -> Tensor:
        """IF of the first half of train, the class's own rows; the second halves are the rest."""
        both = torch.cat([train, test]).double()
        scale = both.std(0, correction=0)
        both = (both - both.mean(0)) / torch.where(scale > 1e-9, scale, 1.0)
        train, test = both[: len(train)], both[len(train) :]
        a, b = signs(len(train)), signs(len(test))
        theta = logistic(train, a, self.strength)
        return influence(theta, train, a, test, b, self.code_parity)[: len(train) // 2]


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


def logistic(X: Tensor, y: Tensor, strength: float, rounds: int = 50) -> Tensor:
    """argmin |th|^2 / 2 + strength mean log(1 + exp(-y th.x)), by Newton's method; y is +1 or -1.

    scikit-learn's LogisticRegression(C=strength / n, fit_intercept=False), in a few small solves.
    With fewer rows than features theta = X' a, and the systems have n equations: the gradient is
    X' r, and (I + X' D X)^-1 X' r = X' (I + D K)^-1 r with K = X X'.
    """
    n, d = X.shape
    few, c = n < d, strength / n
    K = X @ X.T if few else X
    theta, eye = X.new_zeros(min(n, d)), torch.eye(min(n, d), dtype=X.dtype)
    for _ in range(rounds):
        s = torch.sigmoid(-y * (K @ theta))
        if few:
            grad, curvature = theta - c * s * y, (c * s * (1 - s))[:, None] * K
        else:
            grad = theta - strength * (X.T @ (s * y)) / n
            curvature = strength * (X.T @ ((s * (1 - s))[:, None] * X)) / n
        if (X.T @ grad if few else grad).abs().max() < 1e-8:  # RECORD's tolerance
            break
        theta = theta - torch.linalg.solve(eye + curvature, grad)
    return X.T @ theta if few else theta


def influence(
    theta: Tensor, X: Tensor, y: Tensor, X_te: Tensor, y_te: Tensor, code_parity: bool = False
) -> Tensor:
    """IF of every training row [n], with H = mean s(u) s(-u) x x', u = th.x, its ridge left out."""
    u = X @ theta
    # The test loss falls fastest along g.
    g = X_te.T @ (y_te * torch.sigmoid(-y_te * (X_te @ theta))) / len(y_te)  # [d]
    # pinv(H) g from the thin SVD of H's root: also sound with fewer rows than features.
    root = (torch.sigmoid(u) * torch.sigmoid(-u) / len(u)).sqrt()[:, None] * X  # root' root = H
    _, sv, V = torch.linalg.svd(root, full_matrices=False)
    keep = sv > sv.max() * max(root.shape) * torch.finfo(sv.dtype).eps
    V, sv = V[keep], sv[keep]
    z = V.T @ ((V @ g) / sv**2)  # [d]
    # The released code has s(+y th.x) here, which ranks rows that are already fitted first.
    factor = torch.sigmoid((1 if code_parity else -1) * y * u)
    return factor * y * (X @ z)
