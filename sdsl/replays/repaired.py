"""The paper's method, repaired to follow drift with much gold. Not in the paper.

Trust       Gold's weight is overlap(D, X_t)^a agreement(D, D_{t-1})^b, in [0, 1]. overlap: how
            often the nearest neighbour of a row of X_t is a gold row, against how often it would be
            under one distribution, as far as chance does not explain the difference. agreement:
            Cohen's kappa of gold's labels with the vote of their nearest lookback rows among the
            encoder's features, against that of gold's own rows, as many. Overlap falls where
            classes move even while gold's own pull keeps labels in agreement; agreement stays low
            where classes have changed places and overlap is back.
Shares      Eq. 4 becomes Bayes' rule, so that a rare class is not filled up: y(x) = argmax_c
            (1 - w/2) [log share_c - d(x, u_c)^2 / 2] + (w/2) log p_c(x), w = trust; the shares and
            the scale of d are found by EM (Dempster et al., 1977), the prototypes standing still.
Scale       Both steps are made in units of X_t and D_{t-1}: classes that travel far from gold stay
            near 0, where a network can learn. A unit is the geometric mean of a feature's spread
            and its spread inside the classes, times one factor for all.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.core.contract import Log, Pseudo, Step
from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, forward
from sdsl.core.rows import Rows
from sdsl.core.scaler import Scaler
from sdsl.core.settings import Weight, settings
from sdsl.labelers.robust import Robust, class_means, prototypes
from sdsl.replays.flat_region import FlatRegion

QUERIES = 500  # rows of X_t whose nearest neighbour is looked up; they stand in random order
NEIGHBOURS = 5  # rows that vote on a gold row
RIDGE = 1e-6  # of the mean variance: two prototypes may coincide
ROUNDS = 5  # of EM
FARTHEST = 10.0  # a step moves the scale by no more deviations, and a unit by no larger factor


@settings
class Trust:
    """The two powers; 0 and 0 leave gold at full weight."""

    overlap: Weight
    agreement: Weight

    def __call__(self, step: Step, classes: int) -> float:
        """1 while there are too few lookback rows for a vote."""
        if len(step.lookback) < NEIGHBOURS:
            return 1.0
        near = step.once("overlap", lambda: overlap(step.gold.X, step.X))
        same = step.once("agreement", lambda: agreement(*encoded(step), classes))
        return float(near**self.overlap * same**self.agreement)


def encoded(step: Step) -> tuple[Rows, Rows]:
    """Gold and lookback with the encoder's features in the place of rows."""
    of = lambda rows: Rows(forward(rows.X, step.theta)[0], rows.y)  # noqa: E731
    return of(step.gold), of(step.lookback)


@settings
class RepairedLabels(Robust):
    """Algorithm 1 with trust, shares and running scale."""

    trust: Trust
    share: Weight  # segments that the last shares stand for

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        super().start(gold, learner, draws)
        self.shares = gold.y.bincount(minlength=learner.classes).double() / len(gold)  # [C]
        self.inside = spread_inside(gold, learner.classes)

    def label(self, step: Step, learner: Learner) -> Pseudo:
        inner, units = step.once("units", lambda: in_units(step, self.inside))
        express(units, learner.theta, learner.teacher)
        pseudo = super().label(inner, learner)
        express(units, learner.theta, learner.teacher, back=True)
        self.inside = spread_inside(rows := Rows(step.X, pseudo.rows.y), learner.classes)
        log = {"gold_trust": self.trust(inner, learner.classes)}
        log = {"memory_numbers": float(step.X.shape[1])}  # the spread inside the classes
        return Pseudo(pseudo.y, rows, pseudo.log | log)

    def weights(self, step: Step, learner: Learner) -> list[float]:
        """The lookback gains what gold loses."""
        kept = self.trust(step, learner.classes)
        return [kept, 2 - kept]

    def first_prototypes(self, f: Tensor, logits: Tensor) -> Tensor:
        """Of labels: p leaks from a large class into the prototype of a small one."""
        return prototypes(f, logits.argmax(1), super().first_prototypes(f, logits))

    def assign(self, step: Step, f: Tensor, U: Tensor, y: Tensor, logits: Tensor) -> Tensor:
        # Rows of a segment, so that the last shares outweigh a segment of one row.
        rows = self.share * max(len(step.lookback), len(step.X))
        before = rows * step.once("last shares", lambda: self.shares)
        y, self.shares = assign_by_shares(f, U, y, logits, self.trust(step, len(U)), before)
        return y


@settings
class RepairedReplay(FlatRegion):
    """Algorithm 2 with trust and running scale."""

    trust: Trust

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        inner, units = step.once("units", lambda: in_units(step))
        express(units, learner.theta, learner.teacher)
        log = super().replay(inner, replace(pseudo, rows=units.rows(pseudo.rows)), learner)
        express(units, learner.theta, learner.teacher, back=True)
        return log

    def sets(self, step: Step, pseudo: Pseudo, learner: Learner) -> tuple[list[Rows], list[float]]:
        given = [step.gold, step.lookback, pseudo.rows]
        return self.fit.gathered(given, [self.trust(step, learner.classes), 1.0, 1.0])


# Running scale


def in_units(step: Step, inside: Tensor | None = None) -> tuple[Step, Scaler]:
    """(the step in running units, those units)"""
    last = step.lookback if len(step.lookback) else step.gold
    units = units_of(step.X, last.X, inside)
    gold, lookback = units.rows(step.gold), units.rows(step.lookback)
    theta = [step.theta[0].clone(), *step.theta[1:]]
    express(units, theta)
    return replace(step, gold=gold, lookback=lookback, X=units(step.X), theta=theta), units


def units_of(X: Tensor, last: Tensor, inside: Tensor | None) -> Scaler:
    """Of the segment and the last rows, within bounds around those of the latter alone."""
    total = Scaler.fit(X, last)
    mean, scale = total.mean, total.scale
    if inside is not None:
        share = (inside / scale).clamp(1 / FARTHEST, 1.0).sqrt()
        scale = scale * share / share.log().mean().exp()
    if len(last) > NEIGHBOURS:
        before = Scaler.fit(last)
        reach = FARTHEST * before.scale
        mean = mean.clamp(before.mean - reach, before.mean + reach)
        scale = scale.clamp(before.scale / FARTHEST, reach)
    return Scaler(mean, scale)


def spread_inside(rows: Rows, classes: int) -> Tensor | None:
    """Standard deviation [1, d] inside the classes; None for a row a class."""
    U, size = class_means(rows.X, rows.y, classes)
    freedom = len(rows) - int((size > 0).sum())
    if freedom < 1:
        return None
    return ((rows.X - U[rows.y]).square().sum(0, keepdim=True) / freedom).sqrt()


def express(units: Scaler, *networks: Theta, back: bool = False) -> None:
    """The same network for rows x' with x = scale x' + mean, or back; in layer 1, in place."""
    for layer, *_ in networks:
        if back:
            layer[:-1] /= units.scale.mT
            layer[-1:] -= units.mean @ layer[:-1]
        else:
            layer[-1:] += units.mean @ layer[:-1]
            layer[:-1] *= units.scale.mT


# Trust


def overlap(gold: Tensor, X: Tensor) -> float:
    """Observed over expected share of rows of X [n, d] with their neighbour in gold, at most 1."""
    asked, n = X[:QUERIES], len(X)
    to_others = distance(asked, X)
    to_others.fill_diagonal_(torch.inf)  # a row is no neighbour of its own
    share = float((distance(asked, gold).amin(1) < to_others.amin(1)).double().mean())
    expected = len(gold) / (len(gold) + n - 1)
    error = (expected * (1 - expected) / len(asked)) ** 0.5
    sure = min(1.0, max(0.0, ((expected - share) / max(error, 1e-9) - 2) / 2))  # 2 to 4 errors
    return float(min(1.0, share / expected) ** sure)


def agreement(gold: Rows, teacher: Rows, classes: int) -> float:
    """Kappa of gold with the lookback, over that of gold with its own rows, in [0, 1]."""
    own = gold[: len(teacher)]
    itself = torch.eye(len(gold), len(own), dtype=torch.bool)
    best = kappa(gold, own, classes, itself)
    # With one gold row per class there is no leave-one-out agreement to divide by.
    ratio = kappa(gold, teacher, classes) / (best if best > 0 else 1.0)
    return min(1.0, max(0.0, ratio))


def kappa(gold: Rows, teacher: Rows, classes: int, barred: Tensor | None = None) -> float:
    """Cohen's kappa between gold's labels and the vote of their nearest teachers.

    barred [g, n]: a row has no vote on itself.
    """
    far = distance(gold.X, teacher.X)  # [g, n]
    if barred is not None:
        far.masked_fill_(barred, torch.inf)
    near = far.topk(min(NEIGHBOURS, far.shape[1]), largest=False)
    votes = F.one_hot(teacher.y[near.indices], classes) * near.values.isfinite()[..., None]
    mine, theirs = (F.one_hot(y, classes) for y in (gold.y, votes.sum(1).argmax(1)))  # [g, C]
    n = len(gold)
    same, chance = float((mine * theirs).sum()) / n, float((mine.sum(0) * theirs.sum(0)).sum())
    return (same - chance / n**2) / max(1 - chance / n**2, 1e-9)


# Shares


def assign_by_shares(
    f: Tensor, U: Tensor, y: Tensor, logits: Tensor, trust: float, before: Tensor
) -> tuple[Tensor, Tensor]:
    """(labels [n], shares [C]) of features f [n, m] by prototypes U [C, m] and logits [n, C].

    y: as the rows stand now. before [C]: rows that the last shares stand for. From the new rows
    alone EM would rather cut a large class in two than find a small one. The logits weigh by the
    trust in gold: where gold still holds, so does the network that was fitted to it.
    """
    f, U, classes = f.double(), U.double(), len(U)
    origin = U.mean(0)
    # Only the span of the prototypes tells classes apart: C - 1 directions.
    span = torch.linalg.svd(U - origin, full_matrices=False)[2][: classes - 1].T
    z, u = (f - origin) @ span, (U - origin) @ span  # [n, k], [C, k]
    score = members = F.one_hot(y, classes).double()  # [n, C]
    share = before
    for _ in range(ROUNDS):
        size = members.sum(0)
        share = size + before + 1  # an empty class may come back
        share = share / share.sum()
        L = torch.linalg.cholesky(spread(z, u, members, size))
        scaled = [torch.linalg.solve_triangular(L, rows.T, upper=False).T for rows in (z, u)]
        score = share.log() - distance(*scaled).square() / 2
        members = score.softmax(1)
    w = trust / 2
    return ((1 - w) * score + w * logits.double().log_softmax(1)).argmax(1), share


def spread(z: Tensor, u: Tensor, members: Tensor, size: Tensor) -> Tensor:
    """Mean of (z - u_y)(z - u_y)^T over the rows, [k, k], with a ridge."""
    across = u.T @ (members.T @ z)
    within = (z.T @ z - across - across.T + (u.T * size) @ u) / len(z)
    mean = within.diagonal().mean().clamp(min=1e-12)
    return within + RIDGE * mean * torch.eye(len(within), dtype=z.dtype)


def distance(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean [n, m], without the matrix product that would cancel near zero."""
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
