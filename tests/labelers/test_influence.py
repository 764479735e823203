"""RECORD: influence against leave-one-out retraining and plain NumPy, the buffer, the cut."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from made_steps import Fixed, step
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from sdsl.config.schema import component
from sdsl.core.rows import Rows
from sdsl.labelers.influence import influence, logistic, pick, split


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
        return F.softplus(-y_te * (X_te @ theta)).mean()

    n, full = len(y), loss(logistic(X, y, strength))
    others = [torch.arange(n) != i for i in range(n)]
    return torch.stack([loss(logistic(X[k], y[k], strength * (n - 1) / n)) - full for k in others])


def test_influence_agrees_with_leave_one_out():
    """Under a weak ridge, so that the Hessian without it is the problem's own."""
    ranks, signs = [], []
    for seed in range(8):
        rows, strength = toy(seed), 10
        score = influence(logistic(*rows[:2], strength), *rows)
        truth = leave_one_out(*rows, strength)
        ranks.append(spearmanr(score, truth)[0])
        signs.append(float(((score > 0) == (truth > 0)).double().mean()))
    assert min(ranks) > 0.9 and np.mean(signs) > 0.95


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


def refill(X, stored=None, **settings):
    """The buffer that RECORD leaves of X [n, 2], with the model above."""
    gold = Rows(torch.tensor([[-9.0, 0.0], [9.0, 0.0]]), torch.tensor([0, 1]))
    now = step(gold, stored or Rows.empty(2), torch.tensor(X, dtype=torch.float32))
    made = component("labeler", "influence", fit=None, **{"keep_gold": False} | settings)
    return made.label(now, Fixed((2, 2), now.draws))


def two_sided(n=200, seed=0):
    rng = np.random.default_rng(seed)
    side = np.repeat([-1.0, 1.0], n // 2)
    return np.stack([side * rng.uniform(0.5, 1, n), side + rng.normal(size=n)], 1)


def test_the_buffer_holds_its_share_of_each_class_and_gold_is_evicted():
    pseudo = refill(two_sided(), size=20)
    assert torch.bincount(pseudo.rows.y).tolist() == [10, 10]
    assert pseudo.rows.X.abs().max() < 9  # the gold rows at +-9 were the oldest
    assert pseudo.y.tolist() == [0] * 100 + [1] * 100


def test_the_oldest_rows_of_a_class_go_first():
    """Class 1 gets no new rows and keeps its own, the newest of them."""
    places = torch.tensor([[-2.0, 0], [-3, 0], [-4, 0], [-5, 0], [7, 0]])
    old = Rows(places, (places[:, 0] > 0).long())
    X = np.stack([-np.linspace(0.5, 1, 9), np.zeros(9)], 1)
    kept = refill(X[-2:], stored=old, size=6).rows
    assert kept.X[kept.y == 0][:, 0].tolist() == pytest.approx([-5, -0.9375, -1])
    assert kept.X[kept.y == 1][:, 0].tolist() == [7]


def test_the_most_influential_row_is_the_last_to_be_evicted():
    X = two_sided()
    big, small = (refill(X, size=size).rows for size in (40, 8))
    for c in (0, 1):
        long, short = (rows.X[rows.y == c] for rows in (big, small))
        assert torch.equal(long[-4:], short)


def test_keep_gold_leaves_gold_outside_the_queues():
    assert refill(two_sided(), size=400, keep_gold=True).rows.X.abs().max() < 9
    assert refill(two_sided(), size=400).rows.X.abs().max() == 9


def test_one_predicted_class_falls_back_to_confidence():
    X = np.stack([np.linspace(0.5, 1, 50), np.zeros(50)], 1)
    pseudo = refill(X, size=20)
    assert pseudo.log["classes_by_confidence"] == 1
    mine = pseudo.rows.X[pseudo.rows.y == 1][:, 0]
    assert mine.tolist() == pytest.approx(X[-10:, 0])  # the surest, worst first
    assert (pseudo.rows.y == 0).sum() == 1  # the other class keeps its gold row
