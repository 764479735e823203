"""The tracker against a twin in whole matrices; streams that move, jump, grow, cross and turn."""

from typing import NamedTuple

import numpy as np
import pytest
import support
import torch
from made_steps import learner, step
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal
from threadpoolctl import threadpool_limits

from sdsl.config.schema import component
from sdsl.core.rows import Rows
from sdsl.labelers import tracker as sut
from sdsl.labelers.tracker import GOLD, STREAM, Mixture, em, fit, log_joint, posterior, terms

D, OWNER = 3, np.array([0, 0, 1, 2])
every_form = pytest.mark.parametrize("form", ["full", "tied", "diagonal"])


class Plain(NamedTuple):
    """A member in whole matrices."""

    mean: np.ndarray  # [K, d]
    cov: np.ndarray  # [K, d, d]
    weight: np.ndarray
    pooled: np.ndarray  # [d, d]
    velocity: np.ndarray
    score: float


def made(form: str, seed: int = 0) -> Plain:
    """Four Gaussians, some deviations apart."""
    rng, K = np.random.default_rng(seed), len(OWNER)
    half = rng.normal(size=(K + 1, D, 2 * D))
    S = shaped(half @ half.transpose(0, 2, 1) / (2 * D), form)
    S = S[[-1] * (K + 1)] if form == "tied" else S
    w = rng.uniform(1, 2, K)
    mean, velocity = 4 * rng.normal(size=(K, D)), 0.1 * rng.normal(size=(K, D))
    return Plain(mean, S[:K], w / w.sum(), S[-1], velocity, -50.0)


def shaped(S, form: str):
    return S * np.eye(D) if form == "diagonal" else S


def packed(m: Plain, form: str) -> Mixture:
    i, j = np.diag_indices(D) if form == "diagonal" else np.triu_indices(D)
    cov = m.cov[: 1 if form == "tied" else None, i, j]
    return Mixture(OWNER, m.mean, cov, m.weight, m.pooled[i, j], m.velocity, m.score)


def drawn(m: Plain, n: int, seed: int = 1) -> np.ndarray:
    """Rows of the mixture, as many of each component as its weight says, about."""
    rng = np.random.default_rng(seed)
    own = rng.choice(len(OWNER), n, p=m.weight)
    return np.stack([rng.multivariate_normal(m.mean[k], m.cov[k]) for k in own])


def slow_log_joint(m: Plain, X) -> np.ndarray:
    parts = zip(m.weight, m.mean, m.cov, strict=True)
    return np.stack([np.log(w) + multivariate_normal(u, S).logpdf(X) for w, u, S in parts], 1)


def slow_em(start: Plain, X, rounds: int, priors, form: str, only=True) -> Plain:
    n, now = len(X), start
    for _ in range(rounds):
        r = softmax(np.where(only, slow_log_joint(now, X), -np.inf), 1)
        count, mean, A = r.sum(0), [], []
        for k, weights in enumerate(r.T):
            u = (priors.mean * start.mean[k] + weights @ X) / (priors.mean + count[k])
            spread = sum(w * np.outer(x - u, x - u) for w, x in zip(weights, X, strict=True))
            mean.append(u)
            A.append(shaped(spread, form))
        N = n * (1 + priors.cov)
        P = (priors.cov * n * start.pooled + sum(A)) / N
        sphere = np.trace(P) / D * np.eye(D)
        pooled = (N * P + D / 2 * sphere) / (N + D / 2) + 1e-4 * np.eye(D)
        cov = []
        for k, w in enumerate(start.weight):
            before = priors.cov * n * w
            own = (before * start.cov[k] + A[k] + D * pooled) / (before + count[k] + D)
            cov.append(pooled if form == "tied" else own)
        w = (count + priors.weight * n * start.weight) / (n + priors.weight * n) + 1e-4
        last, now = now, start._replace(mean=np.array(mean), cov=np.array(cov), pooled=pooled)
        now = now._replace(weight=w / w.sum())
        moved = ((now.mean - last.mean) ** 2 / np.diag(pooled)).sum(1)
        if np.sqrt(now.weight * moved).max() < 0.01:
            break
    return now


def slow_move(m: Plain, X, first: bool, form: str, gain=0.3, fade=0.8) -> tuple[Plain, int]:
    """(the member after the segment, which of the three starts it took)"""
    start, inverse = m.mean + m.velocity, np.linalg.inv(m.pooled)
    centre, middle = m.weight @ start, X.mean(0)
    within = sum(w * np.trace(inverse @ S) for w, S in zip(m.weight, m.cov, strict=True))
    gaps = start - centre
    between = sum(w * u @ inverse @ u for w, u in zip(m.weight, gaps, strict=True))
    spread = np.trace(inverse @ np.cov(X.T, bias=True))
    s = np.sqrt(np.clip((spread - within) / between, 1 / 16, 16))
    starts = [m._replace(mean=u) for u in (start, middle + gaps, middle + s * gaps)]
    costs = [0, 0.05, 0.05 + 2 * np.log(s) ** 2]
    log_p = [logsumexp(slow_log_joint(one, X), axis=1).mean() for one in starts]
    chosen = int(np.argmax(np.subtract(log_p, costs)))
    new = slow_em(starts[chosen], X, 10, STREAM, form)
    velocity = m.velocity + gain * (new.mean - start)
    if first:
        velocity += (1 - gain) * (starts[chosen].mean - start)
    score = fade * m.score + (1 - fade) * len(X) * log_p[chosen]
    return new._replace(velocity=velocity, score=score), chosen


def check_same(found: Mixture, slow: Plain, form: str) -> None:
    for name, mine, expected in zip(Mixture._fields, found, packed(slow, form), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-7, atol=1e-9, err_msg=name)


@every_form
def test_densities_and_posterior_are_scipys(form, monkeypatch):
    m = made(form)
    X = drawn(m, 30) + 100  # far from 0, where squares cancel
    m = m._replace(mean=m.mean + 100)
    mix, joint = packed(m, form), slow_log_joint(m, X)
    np.testing.assert_allclose(log_joint(mix, terms(X, mix.cov.shape[1])), joint, rtol=1e-9)
    p = softmax(joint, 1)
    by_class = np.stack([p[:, c == OWNER].sum(1) for c in range(4)], 1)  # class 3 has no Gaussian
    for block in (sut.BLOCK, 40):  # 40 numbers are a few rows
        monkeypatch.setattr(sut, "BLOCK", block)
        np.testing.assert_allclose(posterior(mix, X, 4), by_class, atol=1e-12)


@every_form
@pytest.mark.parametrize("rounds", [1, 4, 100])
@pytest.mark.parametrize("gold", [False, True], ids=["stream", "gold"])
def test_em_against_whole_matrices(form, rounds, gold):
    m = made(form)
    X, start = drawn(m, 60), m._replace(mean=m.mean + 0.7)
    only = np.arange(60)[:, None] % 3 == OWNER if gold else True
    priors, mix = GOLD if gold else STREAM, packed(start, form)
    found = em(mix, terms(X, len(mix.pooled)), rounds, priors, only if gold else None)
    check_same(found, slow_em(start, X, rounds, priors, form, only), form)


@every_form
def test_steps_against_whole_matrices(form):
    """A picture that stands, jumps, grows and stands: every kind of start is taken."""
    slow, labeler, taken = made(form), component("labeler", "tracker"), []
    mix, truth, labeler.first = packed(slow, form), made(form), True
    for t, (at, size) in enumerate([(0, 1), (9, 1), (9, 1.8), (9, 1.8), (-5, 1.8)]):
        X = drawn(truth._replace(mean=size * truth.mean + at), 80, seed=t)
        slow, chosen = slow_move(slow, X, labeler.first, form)
        mix, _ = labeler.move(mix, terms(X, len(mix.pooled)))
        check_same(mix, slow, form)
        taken.append(chosen)
        labeler.first = False
    assert set(taken) == {0, 1, 2}


# The fit on gold


@pytest.mark.parametrize(
    ("d", "n", "components"),
    [(2, 1, 1), (2, 19, 1), (2, 20, 2), (2, 400, 8), (65, 39, 1), (65, 40, 2)],
)
def test_a_component_needs_five_rows_a_feature_or_twenty(d, n, components):
    """Twenty where covariances are diagonal, beyond 64 features."""
    y = np.repeat([0, 1], [n, 3])
    mix = fit(Rows(torch.randn(n + 3, d), torch.tensor(y)), 8, 10**6)
    assert mix.owner.tolist() == [0] * components + [1]
    assert len(mix.pooled) == (65 if d == 65 else 3)
    assert all(np.isfinite(part).all() for part in mix)


def two_modes(n: int, seed: int = 0) -> Rows:
    """Class 0 at -4 and 4, class 1 at 0."""
    rng, y = np.random.default_rng(seed), np.arange(n) % 2
    X = rng.normal(size=(n, 2))
    X[:, 0] += np.where(y == 0, 4 * rng.choice([-1, 1], n), 0)
    return Rows(torch.tensor(X), torch.tensor(y))


def test_modes_of_a_class_are_found_in_gold():
    gold = two_modes(400)
    mix = fit(gold, 2, 10**6)
    assert mix.owner.tolist() == [0, 0, 1, 1]
    assert sorted(mix.mean[:2, 0]) == pytest.approx([-4, 4], abs=0.3)
    assert mix.weight[:2].sum() == pytest.approx(0.5, abs=0.01)


def test_the_same_fit_whatever_the_threads():
    gold = two_modes(400)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="openmp"):
            found.append(support.bits(fit(gold, 4, 10**6)))
    assert found[0] == found[1]


@pytest.mark.parametrize(("d", "C", "n"), [(2, 2, 80), (10, 4, 400), (64, 10, 20), (300, 26, 20)])
def test_members_and_their_rule_hold_no_more_than_the_network(d, C, n):
    g, y = torch.Generator().manual_seed(0), torch.arange(n * C) % C
    labeler, of = component("labeler", "tracker"), learner(d, 100, 100, C)
    labeler.start(Rows(torch.randn(n * C, d, generator=g), y), of, of.init)
    held = sum(m.numbers for m in labeler.members) + max(m.rule.numbers for m in labeler.members)
    assert held <= sum(p.numel() for p in of.theta)


# The choice among members

PLACES = np.array([[-5.0, 0], [5, 0]])


@pytest.mark.parametrize(
    ("ahead", "first", "best"), [(0.9, False, 0), (1.1, False, 1), (0.1, True, 1), (-0.1, True, 0)]
)
def test_a_member_must_be_ahead_for_each_row_that_it_relabels(ahead, first, best):
    """The second calls all ten rows by the other name; a tenth of a nat is asked for each."""
    labeler, of = component("labeler", "tracker", fade=1.0), learner(2, 2)
    one = np.tile([1.0, 0, 1], (2, 1))
    a = Mixture(np.array([0, 1]), PLACES, one, np.full(2, 0.5), one[0], 0 * PLACES, 0.0)
    b = a._replace(owner=np.array([1, 0]), score=ahead)
    labeler.restore({"members": [a, b], "best": 0, "first": first}, Rows.empty(2), of)
    X = torch.tensor(PLACES).repeat(5, 1)
    pseudo = labeler.label(step(Rows.empty(2), Rows.empty(2), X), of)
    assert pseudo.log["member"] == best
    assert pseudo.y.tolist() == [best, 1 - best] * 5
    assert np.array_equal(pseudo.mixture.owner, (a, b)[best].owner)


# Streams


def followed(places, motion, n=200) -> float:
    """The least accuracy over segments in which the picture is at, times size, turned by angle."""
    rng, of = np.random.default_rng(0), learner(2, len(places))
    labeler, y, acc = component("labeler", "tracker"), torch.arange(n) % len(places), []

    def rows(at=0.0, size=1.0, angle=0.0) -> Rows:
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        X = size * (np.array(places)[y] @ turn) + at + rng.normal(size=(n, 2))
        return Rows(torch.tensor(X), y)

    labeler.start(rows(), of, of.init)
    for moved in motion:
        now = labeler.label(step(Rows.empty(2), Rows.empty(2), rows(*moved).X), of)
        acc.append(float((now.y == y).double().mean()))
    return min(acc)


COLUMN = [[0.0, 6.0 * c] for c in range(5)]
RING = [[7.0, 0], [0, 7], [-7, 0], [0, -7]]


@pytest.mark.parametrize(("places", "motion"), [
    (COLUMN, [([0, 30 * (t > 2) - 50 * (t > 4)],) for t in range(8)]),
    (COLUMN, [([0, 3.8 * t],) for t in range(1, 20)]),  # by more than half a gap each time
    (COLUMN, [([0, 9 * (t > 3)], 1 + t % 3) for t in range(12)]),
    (RING, [(0, 1, np.radians(15 * t)) for t in range(1, 25)]),
], ids=["jumps", "speed", "growth", "turns"])  # fmt: skip
def test_the_whole_picture_is_followed(places, motion):
    assert followed(places, motion) > 0.97
