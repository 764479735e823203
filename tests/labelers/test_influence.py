"""RECORD: influence against leave-one-out retraining and plain NumPy, the buffer, the cut."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from support import blobs, component, run

from sdsl.algorithms.influence_function import influence, logistic
from sdsl.core.contract import Step
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.labelers.influence import Queues, pick, split

torch.set_num_threads(1)  # dozens of tiny solves: threads only get in each other's way

FAST = ("labeler.fit.steps=20", "replay.fit.steps=20", "learner.pretrain.steps=50")


def toy(seed, d=2, n=40):
    """A 40-row logistic problem and a shifted 40-row test set, standardised together."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, -1.0], n // 2)
    axis = rng.normal(size=d)
    axis /= np.linalg.norm(axis)
    X = rng.normal(size=(n, d)) + y[:, None] * axis
    X_te = rng.normal(size=(n, d)) + y[:, None] * (axis + 0.35 * rng.normal(size=d))
    both = np.concatenate([X, X_te])
    both = (both - both.mean(0)) / both.std(0)
    return [torch.tensor(a) for a in (both[:n], y, both[n:], y)]


def leave_one_out(X, y, X_te, y_te, strength):
    """How much the test loss rises when a row is left out, the others weighing what they did."""

    def loss(theta):
        return torch.nn.functional.softplus(-y_te * (X_te @ theta)).mean()

    n, full = len(y), loss(logistic(X, y, strength))
    others = [torch.arange(n) != i for i in range(n)]
    return torch.stack([loss(logistic(X[k], y[k], strength * (n - 1) / n)) - full for k in others])


def agreement(strength, seeds=range(8), **kwargs):
    """(rank correlations, shares of equal sign) of influence with leave-one-out retraining."""
    ranks, signs = [], []
    for seed in seeds:
        X, y, X_te, y_te = toy(seed)
        score = influence(logistic(X, y, strength), X, y, X_te, y_te, **kwargs)
        truth = leave_one_out(X, y, X_te, y_te, strength)
        ranks.append(spearmanr(score, truth)[0])
        signs.append(float(((score > 0) == (truth > 0)).double().mean()))
    return np.array(ranks), np.array(signs)


def test_influence_agrees_with_leave_one_out():
    # A weak ridge, so that the Hessian without it is the problem's own.
    ranks, signs = agreement(strength=10)
    assert ranks.min() > 0.9
    assert signs.mean() > 0.95


def test_influence_at_records_own_strong_ridge_still_ranks():
    # At C = 0.1 / n the omitted ridge dominates the Hessian: less exact, the order mostly right.
    ranks, signs = agreement(strength=0.1)
    assert ranks.mean() > 0.9
    assert signs.mean() > 0.9


def test_the_released_codes_factor_keeps_signs_and_loses_the_ranking():
    ranks, signs = agreement(strength=10)
    code_ranks, code_signs = agreement(strength=10, code_parity=True)
    assert np.array_equal(signs, code_signs)
    assert code_ranks.mean() < ranks.mean() - 0.1


@pytest.mark.parametrize("code_parity", [False, True])
@pytest.mark.parametrize("d", [2, 60])  # 60 features for 40 rows: H is singular
def test_influence_equals_a_plain_numpy_loop(d, code_parity):
    X, y, X_te, y_te = toy(3, d)
    theta = logistic(X, y, 0.1)
    score = influence(theta, X, y, X_te, y_te, code_parity).numpy()

    X, y, X_te, y_te, th = (a.numpy() for a in (X, y, X_te, y_te, theta))

    def s(v):
        return 1 / (1 + np.exp(-v))

    H = np.mean([s(th @ x) * s(-th @ x) * np.outer(x, x) for x in X], axis=0)
    inverse = np.linalg.pinv(H, rcond=1e-12, hermitian=True)
    for i in range(len(y)):
        factor = s((1 if code_parity else -1) * y[i] * th @ X[i])
        terms = [
            b * s(-b * th @ z) * factor * y[i] * (z @ inverse @ X[i])
            for z, b in zip(X_te, y_te, strict=True)
        ]
        assert score[i] == pytest.approx(np.mean(terms), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("d", [2, 60])
def test_logistic_equals_scikit_learn(d):
    X, y, *_ = toy(1, d)
    model = LogisticRegression(C=0.1 / len(y), fit_intercept=False, tol=1e-8, max_iter=10_000)
    expected = model.fit(X.numpy(), y.numpy()).coef_[0]
    assert np.allclose(logistic(X, y, 0.1), expected, atol=1e-7)


def test_split_cuts_at_the_threshold_and_halves_by_confidence():
    p = torch.tensor([0.61, 0.99, 0.60, 0.80, 0.70, 0.95, 0.65])
    mine = torch.tensor([1, 1, 1, 1, 1, 0, 1], dtype=torch.bool)
    near, far = split(p, mine, 0.6)
    assert near.tolist() == [1, 3]  # 0.60 is not above the cut, row 5 is of another class
    assert far.tolist() == [4, 6, 0]  # the odd row counts as shifted


def test_pick_repeats_only_where_the_pool_is_too_small():
    pool, u = torch.arange(10), torch.rand(20, generator=torch.Generator().manual_seed(0))
    assert len(set(pick(pool, 10, u).tolist())) == 10
    assert set(pick(pool[:3], 20, u).tolist()) <= {0, 1, 2}


def test_queues_evict_the_oldest_of_a_class_and_gold_with_them():
    X, y = torch.arange(5.0)[:, None], torch.tensor([0, 0, 1, 0, 1])
    queues = Queues(X, y)
    queues.push(0, torch.tensor([[10.0], [11.0]]))
    queues.evict(3)
    kept, labels = queues.rows(X)
    assert kept.squeeze(1).tolist() == [3, 10, 11, 2, 4]  # class 1, not pushed to, keeps its gold
    assert labels.tolist() == [0, 0, 0, 1, 1]


class Fixed(Learner):
    """A model that says what the test wants: class x_0 > 0, as sure as |x_0|."""

    def __init__(self, classes=2):
        super().__init__((2, classes), [0])

    def probabilities(self, x):
        p = torch.zeros(*x.shape[:2], self.classes)
        right = (x[:, :, 0] > 0).long()
        return p.scatter(2, right[:, :, None], x[:, :, :1].abs().clamp(0.5, 1.0))


def refill(X, stored=None, **settings):
    """The buffer that RECORD leaves of X [n, 2] (one replica), with the model above."""
    X = torch.tensor(X, dtype=torch.float32)[None]
    gold = Rows.full(torch.tensor([[[-9.0, 0.0], [9.0, 0.0]]]), torch.tensor([[0, 1]]))
    stored = Rows.empty_like(X) if stored is None else stored
    step = Step(1, gold, stored, X, [], Draws([0], "batches"))
    return component("labeler", "influence", refit=False, **settings).label(step, Fixed())


def two_sided(n=200, seed=0):
    rng = np.random.default_rng(seed)
    side = np.repeat([-1.0, 1.0], n // 2)
    return np.stack([side * rng.uniform(0.5, 1, n), side + rng.normal(size=n)], 1)


def test_the_buffer_holds_its_share_of_each_class_and_gold_is_evicted():
    pseudo = refill(two_sided(), size=20)
    X, y = pseudo.rows.replica(0)
    assert torch.bincount(y).tolist() == [10, 10]
    assert X.abs().max() < 9  # the gold rows at +-9 were the oldest
    assert pseudo.y.tolist() == [[0] * 100 + [1] * 100]


def test_the_most_influential_row_is_the_last_to_be_evicted():
    X = two_sided()
    big, small = (refill(X, size=size).rows for size in (40, 8))
    for c in (0, 1):
        long, short = (rows.replica(0)[0][rows.replica(0)[1] == c] for rows in (big, small))
        assert torch.equal(long[-4:], short)


def test_keep_gold_leaves_gold_outside_the_queues():
    pseudo = refill(two_sided(), size=400, keep_gold=True)
    assert pseudo.rows.replica(0)[0].abs().max() < 9
    assert refill(two_sided(), size=400).rows.replica(0)[0].abs().max() == 9


def test_rows_below_the_cut_never_enter():
    X = refill(two_sided(), size=100, cut=0.8).rows.replica(0)[0]
    mine = X[X[:, 0].abs() < 9]  # not the gold rows, which are never cut
    assert len(mine) and mine[:, 0].abs().min() > 0.8


def test_one_predicted_class_falls_back_to_confidence():
    X = np.stack([np.linspace(0.5, 1, 50), np.zeros(50)], 1)
    pseudo = refill(X, size=20)
    rows, y = pseudo.rows.replica(0)
    assert pseudo.log["classes_by_confidence"].tolist() == [1]
    assert rows[y == 1][:, 0].tolist() == pytest.approx(X[-10:, 0])  # the surest, worst first
    assert (y == 0).sum() == 1  # the other class keeps what it has


def test_nothing_above_the_cut_leaves_the_buffer_alone():
    pseudo = refill(two_sided(), cut=1.0)
    assert pseudo.rows.replica(0)[0].tolist() == [[-9, 0], [9, 0]]
    assert pseudo.log["pushed"].tolist() == [0]


def test_a_large_gold_set_is_trimmed_to_the_buffer():
    outcome = run("method=record", *FAST, "stream.max_segments=2", "lookback.size=10").outcome
    assert (outcome.curves["stored"] <= 10).all()


@pytest.mark.parametrize("refit", ["true", "false"])
def test_fusing_changes_no_bit(refit):
    data = blobs(classes=3, drift=1.0, spread=1.5)
    how = ("method=record", *FAST, "stream.max_segments=3", f"labeler.refit={refit}")
    how += ("labeler.fit.consistency=1",)
    fused = run(*how, data=data, seeds=(0, 1, 2)).outcome
    alone = run(*how, data=data, seeds=(1,)).outcome
    assert np.array_equal(fused.R[1], alone.R[0], equal_nan=True)
    for name, curve in alone.curves.items():
        assert np.array_equal(fused.curves[name][1], curve[0], equal_nan=True), name


def test_its_own_network_leaves_the_learner_alone():
    X = torch.tensor(two_sided(), dtype=torch.float32)[None]
    learner, gold = Learner((2, 5, 2), [0]), Rows.full(X[:, 95:105], torch.ones(1, 10).long())
    before = learner.copy()
    step = Step(1, gold, Rows.empty_like(X), X, before, Draws([0], "batches"))
    own = component("labeler", "influence", fit={"steps": 3, "consistency": 1.0})
    own.label(step, learner)
    assert all(torch.equal(a, b) for a, b in zip(before, learner.theta, strict=True))


def test_it_follows_a_rotating_stream():
    how = (
        "method=record",
        "stream.gold=record",
        "labeler.refit=false",
        "learner.pretrain.steps=50",
    )
    outcome = run(*how, data=blobs(drift=3.0, spread=0.8), seeds=(0,)).outcome
    assert outcome.curves["test_acc"].mean() > 0.9
