"""Gold's rule: the likelihood test against SciPy, what it sees, when other tests are left out."""

import math

import pytest
import torch
from scipy.stats import mannwhitneyu
from support import training

from sdsl.algorithms import gold_rule
from sdsl.algorithms.gold_folds import FOLDS, by_turns, out_of_fold
from sdsl.algorithms.gold_mixture import gold_mixture
from sdsl.algorithms.gold_rule import LeftOut, drift, left_out, mixture_rule, needed, unlikely
from sdsl.algorithms.mixture import by_class, log_joint
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows


def four(degrees=0.0, n=400, seed=0):
    """Rows of four classes on a circle that has turned, and their labels."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(4, (n,), generator=g)
    a = math.radians(degrees) + y.double() * math.pi / 2
    X = 5 * torch.stack([a.cos(), a.sin()], 1)
    return X + torch.randn(n, 2, generator=g, dtype=torch.float64), y


@pytest.fixture
def rule():
    g = torch.Generator().manual_seed(0)
    X, y = four()
    mixtures = {k: gold_mixture(X, y, [k] * 4, 4 * k, "full", 1e-4, g) for k in (1, 2)}
    return mixture_rule(
        "full", mixtures, {k: left_out(X, y, k, "full", 1e-4, 4, g) for k in (1, 2)}
    )


@pytest.mark.parametrize("degrees", [0, 10, 20])
def test_the_likelihood_test_is_mann_whitneys(rule, degrees):
    X, _ = four(degrees, seed=1)
    new = log_joint(rule.gold, X).logsumexp(2)[0]
    slow = mannwhitneyu(new, rule.usual, alternative="less", method="asymptotic")
    assert unlikely(rule, X) == pytest.approx(slow.pvalue, rel=0.05)  # SciPy corrects for steps


def test_it_has_its_level_without_drift(rule):
    p = [unlikely(rule, four(seed=seed)[0]) for seed in range(2, 42)]
    assert sum(value < 0.05 for value in p) <= 6
    assert min(p) > 1e-4


def test_it_sees_a_turn_of_a_symmetric_picture(rule):
    X, _ = four(20, seed=1)
    g = torch.Generator().manual_seed(0)
    assert unlikely(rule, X) < 1e-6
    assert drift(four()[0], X, rule, None, unlikely(rule, X), 1e-4, g) < 1e-6


def test_energy_tests_are_left_out_only_where_they_cannot_matter(rule, monkeypatch):
    asked = []
    monkeypatch.setattr(gold_rule, "p_value", lambda *_: asked.append(1) or 1e-9)
    gold, g = four()[0], torch.Generator()
    turned, same = four(20, seed=1)[0], four(seed=1)[0]
    y = four()[1]
    low = unlikely(rule, turned)
    assert drift(gold, turned, rule, y, low, 1e-4, g) == 3 * low
    assert not asked
    assert drift(gold, same, rule, y, 0.5, 1e-4, g) == pytest.approx(3e-9)
    assert len(asked) == 2  # of all rows, and class by class
    assert drift(gold, same, rule, None, 0.5, 0.1, g) == pytest.approx(2e-9)
    assert len(asked) == 3


def test_rows_are_labelled_by_turns_as_gold_is(rule):
    X, _ = four(seed=1)
    slow = [
        int(by_class(log_joint(rule.folds[i % FOLDS], x[None]), rule.folds[0].owner, 4).argmax())
        for i, x in enumerate(X)
    ]
    assert rule.own_of(X, 4).tolist() == slow
    assert torch.equal(rule.own_of(four()[0], 4), rule.own)  # gold's own rows come in that order


def test_networks_of_the_folds_give_gold_its_out_of_fold_labels_again():
    X, y = four(n=60)
    gold = Rows.full(X.float()[None], y[None])
    learner = Learner((2, 8, 4), [3])
    before = learner.copy()
    own, nets = out_of_fold(gold, learner, training(steps=20), Draws([3], "batches"))
    assert torch.equal(by_turns(gold.X, nets, learner), own)
    assert all(torch.equal(a, b) for a, b in zip(before, learner.copy(), strict=True))
    for row in (0, 1, 2, 3):  # by hand: row i by network i mod 4
        learner.load(nets[row])
        assert int(learner.probabilities(gold.X)[0, row].argmax()) == int(own[0, row])


def test_classes_that_overlap_do_not_seem_to_move():
    """Labels of f, fitted on all of gold, would differ from out-of-fold ones without any drift."""
    p = []
    for seed in range(12):
        g = torch.Generator().manual_seed(seed)
        y = torch.arange(200) % 2
        X, new = (torch.randn(200, 20, generator=g, dtype=torch.float64) for _ in range(2))
        X = X + 0.3 * y[:, None]
        new = new + 0.3 * y[:, None]
        mixtures = {1: gold_mixture(X, y, [1, 1], 2, "full", 1e-4, g)}
        found = mixture_rule("full", mixtures, {1: left_out(X, y, 1, "full", 1e-4, 2, g)})
        far = gold_rule.distances(X, new)
        p.append(gold_rule.p_value(far, found.own, found.own_of(new, 2), g))
    assert 0.3 < sum(p) / len(p) < 0.7
    assert min(p) > 0.005


def stars(arms, n=800, seed=0):
    """Two classes, each a star of so many narrow arms."""
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2
    a = 2 * math.pi / arms * torch.randint(arms, (n,), generator=g).double()
    way = 6 * torch.rand(n, 1, generator=g, dtype=torch.float64)
    X = way * torch.stack([a.cos(), a.sin()], 1) + 20 * y[:, None]
    return X + 0.3 * torch.randn(n, 2, generator=g, dtype=torch.float64), y


@pytest.mark.parametrize("arms, kept", [(1, [1, 2, 4]), (5, [1, 2, 4, 8])])
def test_more_components_only_where_gold_shows_the_need(arms, kept):
    X, y = stars(arms)
    g = torch.Generator().manual_seed(0)
    tried = {k: left_out(X, y, k, "full", 1e-4, 2, g) for k in (1, 2, 4, 8)}
    assert needed(tried, [1, 2, 4]) == kept


def test_the_need_by_hand():
    def of(*usual):
        return LeftOut(torch.zeros(4), torch.tensor(usual).double(), [])

    one, better, chance = of(0.0, 0, 0, 0), of(1.0, 1, 1, 2), of(1.0, -1, 1, -0.5)
    assert needed({1: one, 2: better}, [1]) == [1, 2]
    assert needed({1: one, 2: chance}, [1]) == [1]  # ahead by .125, standard error .45
    assert needed({1: one, 2: chance}, [1, 2]) == [1, 2]
    assert needed({1: one, 2: better, 4: better}, [1]) == [1, 2]  # as good as fewer
