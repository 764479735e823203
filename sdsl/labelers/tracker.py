"""The tracker: each class is a mixture of Gaussians that EM moves from segment to segment.

p(x, c) = sum_{k of c} w_k N(x; m_k, S_k),  y(x) = argmax_c p(x, c). Members with different numbers
of components run side by side, and the one that foresaw the last segments best gives the labels.
For each member and segment X [n, d]:
1. predict m_k + v_k; EM starts there, or where the whole picture moved, or moved and grew by s, if
   mean log p(X) is larger by MOVE + GROWTH log^2 s;
2. score <- fade score + (1 - fade) sum_i log p(x_i | start), before the member has seen X;
3. EM with the prediction as a prior: as one row for means, one segment for covariances, two for
   weights: m_k = (m0_k + sum_i r_ik x_i) / (1 + n_k),  P = ridge((n P0 + sum_k A_k) / 2n),
   S_k = (n w0_k S0_k + A_k + d P) / (n w0_k + n_k + d),  w_k = (n_k + 2 n w0_k) / 3n;
4. v_k <- v_k + gain (m_k - m_k of the last segment - v_k).
A symmetric matrix is kept as its entries i <= j (a diagonal one as its diagonal): its `pairs`.
"""

from collections import namedtuple
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import softmax
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.draws import Draws
from sdsl.core.finite import check_scores
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import Positive, Share, Weight, settings

Array = np.ndarray
WIDE = 64  # features beyond which covariances are diagonal
ROWS, ROWS_WIDE = 5, 20  # gold rows that a component needs: 5 per feature, or 20 where diagonal
GOLD_ROUNDS, STARTS = 15, 10  # of EM on gold; of k-means
FLOOR = 1e-4  # added to every variance
LEAST = 1e-4  # a component's weight never vanishes, so that its class can come back
SETTLED = 0.01  # EM ends where no mean moves by more deviations, by the root of its weight
MOVE, GROWTH = 0.05, 2.0  # nats a row that a move of the whole picture must gain, and per log^2 s
BLOCK = 2**22  # numbers: rows are classified in blocks of this size
MOST = 20_000  # rows that EM sees: of a longer segment every second, third, ...
NONE = np.empty(0)  # of a mixture that does not move
# How much the prediction weighs in EM: for means in rows, for covariances and weights in segments.
Priors = namedtuple("Priors", "mean cov weight")
GOLD, STREAM = Priors(1e-6, 0.0, 0.0), Priors(1.0, 1.0, 2.0)
Terms = namedtuple("Terms", "F centre")  # see `terms`


class Mixture(NamedTuple):
    """K Gaussians and the class of each. The first four fields are a rule, the others move it."""

    owner: Array  # [K] classes
    mean: Array  # [K, d]
    cov: Array  # [K, p], or [1, p]: the same for all
    weight: Array  # [K]
    pooled: Array = NONE  # [p]
    velocity: Array = NONE  # [K, d]
    score: Any = NONE  # a number

    @classmethod
    def restored(cls, parts: Iterable[Any], d: int, classes: int) -> "Mixture":
        """Of plain data, which is checked."""
        mix = cls(*parts)
        K, p = len(mix.owner), mix.cov.shape[1]
        owned = mix.owner.dtype.kind == "i" and {*mix.owner.tolist()} <= {*range(classes)}
        sound = mix.mean.shape == (K, d) and mix.weight.shape == (K,) and len(mix.cov) in (1, K)
        moves = mix.pooled.shape in ((0,), (p,)) and mix.velocity.shape in ((0,), (K, d))
        if not (owned and sound and moves and p in (d, d * (d + 1) // 2)):
            raise ValueError(f"no mixture of {classes} classes and {d} features")
        return mix

    @property
    def rule(self) -> "Mixture":
        return Mixture(*self[:4])

    @property
    def numbers(self) -> int:
        return sum(np.size(part) for part in self[1:])  # classes are not counted


@cache
def pairs(d: int, p: int) -> tuple[Array, Array, Array]:
    """(i, j, how often the entry ij stands in the whole matrix), [p] each."""
    i, j = np.diag_indices(d) if p == d else np.triu_indices(d)
    return i, j, np.where(i == j, 1.0, 2.0)


def whole(cov: Array, d: int) -> Array:
    """Matrices [K, d, d] from their entries i <= j [K, p]."""
    S, (i, j, _) = np.empty((len(cov), d, d)), pairs(d, cov.shape[1])
    S[:, i, j] = S[:, j, i] = cov
    return S


def terms(X: Array, p: int) -> Terms:
    """Rows [n, d] as EM needs them: F [n, p + d + 1] of x_i x_j, x_i and 1, x from the centre."""
    centre = X.mean(0)
    x, (i, j, _) = X - centre, pairs(X.shape[1], p)
    return Terms(np.concatenate([x[:, i] * x[:, j], x, np.ones((len(x), 1))], 1), centre)


def ridge(P: Array, N: float, d: int) -> Array:
    """P [p] of N rows, shrunk to a sphere as if d / 2 of them were one; and FLOOR."""
    diagonal = np.equal(*pairs(d, len(P))[:2]).astype(float)
    return (N * P + 0.5 * d * (P @ diagonal / d) * diagonal) / (N + 0.5 * d) + FLOOR * diagonal


def inverse(cov: Array, d: int) -> tuple[Array, Array, Array]:
    """(S^-1 [K, d, d], or [K, d] of diagonal S; the same as factors of x_i x_j [K, p]; log |S|)"""
    i, j, times = pairs(d, cov.shape[1])
    if cov.shape[1] == d:
        return 1 / cov, 1 / cov, np.log(cov).sum(1)
    A, log_det = np.linalg.inv(S := whole(cov, d)), np.linalg.slogdet(S)[1]
    return A, A[:, i, j] * times, log_det


def log_joint(mix: Mixture, rows: Terms) -> Array:
    """log w_k N(x_i; m_k, S_k): [n, K]."""
    K, d = mix.mean.shape
    u, (A, square, log_det) = mix.mean - rows.centre, inverse(mix.cov, d)
    linear = A * u if A.ndim == 2 else (A @ u[:, :, None])[:, :, 0]  # [K, d]
    level = np.log(mix.weight) - 0.5 * ((u * linear).sum(1) + log_det + d * np.log(2 * np.pi))
    return rows.F @ np.c_[np.broadcast_to(-0.5 * square, (K, len(square.T))), linear, level].T


def log_sum(joint: Array) -> Array:
    """log sum_k exp joint_k: [n]."""
    top = joint.max(1)
    return top + np.log(np.exp(joint - top[:, None]).sum(1))


def em(
    start: Mixture, rows: Terms, rounds: int, priors: Priors = STREAM, only: Array | None = None
) -> Mixture:
    """EM from the prediction `start`; only [n, K]: the components that a row may belong to."""
    (K, d), p, n, mix = start.mean.shape, len(start.pooled), len(rows.F), start
    (i, j, _), before = pairs(d, p), n * start.weight[:, None]
    for _ in range(rounds):
        joint = log_joint(mix, rows)
        r = softmax(joint if only is None else np.where(only, joint, -np.inf), 1)  # [n, K]
        second, first, count = np.split(r.T @ rows.F, [p, p + d], 1)  # [K, p], [K, d], [K, 1]
        u = (priors.mean * (start.mean - rows.centre) + first) / (priors.mean + count)
        A = second - first[:, i] * u[:, j] - u[:, i] * first[:, j] + count * u[:, i] * u[:, j]
        size, mean = (1 + priors.cov) * n, rows.centre + u
        pooled = ridge((priors.cov * n * start.pooled + A.sum(0)) / size, size, d)
        cov, kept = pooled[None], priors.cov * before
        if len(start.cov) == K:
            cov = (kept * start.cov + A + d * pooled) / (kept + count + d)
        weight = (count + priors.weight * before)[:, 0] / ((1 + priors.weight) * n) + LEAST
        way = ((mean - mix.mean) ** 2 / pooled[i == j]).sum(1)
        mix = start._replace(mean=mean, cov=cov, weight=weight / weight.sum(), pooled=pooled)
        if (mix.weight * way).max() < SETTLED**2:
            break
    return mix


@threadpool_limits.wrap(1)  # the same bits whatever the machine
def fit(rows: Rows, components: int, room: int) -> Mixture:
    """EM within each class of labelled rows, from k-means; one covariance if `room` is small."""
    X, y, (n, d) = rows.X.double().numpy(), rows.y.numpy(), rows.X.shape
    p, need = (d, ROWS_WIDE) if d > WIDE else (d * (d + 1) // 2, ROWS * d)
    owner, part = list[int](), np.zeros(n, int)  # part: the component that a row starts in
    present, index = np.unique(y, return_inverse=True)
    for c in present:
        own = np.flatnonzero(y == c)
        k = int(np.clip(len(own) // need, 1, components))
        part[own] = len(owner) + KMeans(k, n_init=STARTS, random_state=0).fit(X[own]).labels_
        owner += [c] * k
    K, (i, j, _) = len(owner), pairs(d, p)
    near = part[:, None] == np.arange(K)  # [n, K]
    mean = np.stack([X[rows].mean(0) for rows in near.T])
    within = X - np.stack([X[y == c].mean(0) for c in present])[index]
    pooled = ridge((within[:, i] * within[:, j]).mean(0), n, d)
    fits = K * (2 * d + 1) + (K + 1) * p <= room  # with a covariance of each
    cov = np.repeat(pooled[None], K if fits else 1, 0)
    start = Mixture(np.array(owner), mean, cov, near.mean(0), pooled, 0 * mean, 0.0)
    return em(start, terms(X, p), GOLD_ROUNDS, GOLD, only=y[:, None] == start.owner)


def network_numbers(d: int, classes: int) -> int:
    """The weights of the default network."""
    return (d + 1) * 100 + 101 * 100 + 101 * classes


def posterior(mix: Mixture, X: Array, classes: int) -> Array:
    """p(c | x) of rows [n, d]: [n, C]."""
    p, of = mix.cov.shape[1], np.eye(classes)[mix.owner]
    blocks = np.array_split(X, len(X) * (p + X.shape[1] + 1) // BLOCK + 1)
    return np.concatenate([softmax(log_joint(mix, terms(b, p)), 1) @ of for b in blocks])


@dataclass(frozen=True)
class Tracked(Pseudo):
    """The tracker's labels and the mixture that gave them, for the replay."""

    mixture: Mixture | None = None


@settings
class Tracker(Labeler):
    components: list[Positive]  # per class at most; a member for each
    rounds: Positive  # of EM
    gain: Share  # how much of a motion becomes velocity
    fade: Share  # how much of a score lasts
    stay: Weight  # nats a relabelled row by which another member must be ahead to take over

    own_units = True  # the mixtures

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.begin(gold, network_numbers(gold.X.shape[1], learner.classes))

    def begin(self, gold: Rows, room: int) -> None:
        """Fit the members to gold: one at least, others as far as `room` has the numbers."""
        self.members: list[Mixture] = []
        self.best, self.first = 0, True
        for k in sorted(self.components):
            new = fit(gold, k, room)
            same = any(len(new.owner) == len(m.owner) for m in self.members)
            if not self.members or (not same and room >= new.numbers + new.rule.numbers):
                self.members.append(new)
                room -= new.numbers

    def restore(self, state: Mapping[str, Any], gold: Rows, learner: Learner) -> None:
        super().restore(state, gold, learner)
        d = gold.X.shape[1]
        self.members = [Mixture.restored(m, d, learner.classes) for m in state["members"]]

    def label(self, step: Step, learner: Learner) -> Pseudo:
        X, C, p = step.X.double().numpy(), learner.classes, len(self.members[0].pooled)
        rows = step.once(("terms", p), lambda: terms(X[:: -(-len(X) // MOST)], p))
        moved = [self.move(m, rows) for m in self.members]
        self.members, foreseen = [m for m, _ in moved], [log_p for _, log_p in moved]
        each = [posterior(m, X, C) for m in self.members]
        y = np.stack([one.argmax(1) for one in each])
        ahead = 0.0 if self.first else self.stay * (y != y[self.best]).sum(1)
        self.best = int(np.argmax(np.array([m.score for m in self.members]) - ahead))
        self.first, scores = False, torch.from_numpy(each[self.best])
        labels = check_scores(scores, "the mixture's probabilities").argmax(1)
        best = self.members[self.best]
        surprise = log_sum(log_joint(best, rows)).mean() - foreseen[self.best]
        log = {"member": float(self.best), "foreseen": float(foreseen[self.best])}
        log |= {"surprise": float(surprise), "model_numbers": float(self.numbers)}
        return Tracked(labels, Rows(step.X, labels), log, scores, mixture=best)

    @property
    def numbers(self) -> int:
        return sum(m.numbers for m in self.members)

    def accuracy(self, rows: Rows, classes: int) -> float:
        """Of the member that explains the rows best, before it moves."""
        X = rows.X.double().numpy()
        seen = terms(X, len(self.members[0].pooled))
        best = max(self.members, key=lambda m: log_sum(log_joint(m, seen)).mean())
        return float((posterior(best, X, classes).argmax(1) == rows.y.numpy()).mean())

    def move(self, mix: Mixture, rows: Terms) -> tuple[Mixture, float]:
        """(the member after the segment, mean log p(x) of its rows by the prediction)"""
        start = mix._replace(mean=mix.mean + mix.velocity)
        gaps = start.mean - start.weight @ start.mean  # from the centre of the whole picture
        sizes = 1.0, growth(start, rows)
        starts = [start, *(start._replace(mean=rows.centre + s * gaps) for s in sizes)]
        costs = [0.0, *(MOVE + GROWTH * np.log(s) ** 2 for s in sizes)]
        log_p = [log_sum(log_joint(one, rows)).mean() for one in starts]
        chosen = int(np.argmax(np.array(log_p) - costs))
        found = em(starts[chosen], rows, self.rounds)
        jump = starts[chosen].mean - start.mean  # without a past all of it is velocity
        gained = self.gain * (found.mean - start.mean) + (1 - self.gain) * self.first * jump
        score = self.fade * mix.score + (1 - self.fade) * len(rows.F) * log_p[chosen]
        return found._replace(velocity=mix.velocity + gained, score=float(score)), log_p[chosen]


def growth(mix: Mixture, rows: Terms) -> float:
    """s^2 = (spread of the rows - spread within components) / (spread between them), pooled = 1."""
    (K, d), p, u = mix.mean.shape, len(mix.pooled), mix.mean - mix.weight @ mix.mean
    (i, j, _), by = pairs(d, p), inverse(mix.pooled[None], d)[1][0]
    within = mix.weight @ np.broadcast_to(mix.cov, (K, p)) @ by
    between = mix.weight @ (u[:, i] * u[:, j]) @ by
    square = (rows.F[:, :p].mean(0) @ by - within) / max(between, 1e-12)
    return float(np.sqrt(np.clip(square, 1 / 16, 16)))
