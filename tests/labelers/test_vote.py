"""The vote against a slow version; its views, its calibration, its state."""

import numpy as np
import pytest
import support
import torch
from made_steps import learner, step
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from sdsl.config.schema import component
from sdsl.core.draws import Draws
from sdsl.core.rows import Rows
from sdsl.labelers import vote as sut

D, C = 3, 3
LOGISTIC = {"_target_": "sklearn.linear_model.LogisticRegression", "max_iter": 300}
TREES = {"_target_": "sklearn.ensemble.RandomForestClassifier", "n_estimators": 5}


def rows(seed: int, n: int = 120, shift: float = 0.0) -> Rows:
    """Three Gaussian classes, two deviations apart; one value is absurd."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % C
    X = rng.normal(size=(n, D)) * [1, 10, 100] + 2 * y[:, None] * [1, 10, 100] + shift
    X[5, 1] = 1e6
    return Rows(torch.tensor(X).float(), torch.tensor(y))


def begun(gold: Rows, *learners, **changes):
    made = component("labeler", "vote", learners=list(learners or (LOGISTIC,)), **changes)
    of = learner(D, 4, C)
    made.start(gold, of, Draws(0, "batches"))
    return made, of


def slow_view(gold: np.ndarray, X: np.ndarray, own: bool) -> np.ndarray:
    """Rows in deviations of gold or of X itself, cut at 8; tails of a hundredth do not count."""
    by = X if own else gold
    middle = np.clip(by, np.quantile(by, 0.01, axis=0), np.quantile(by, 0.99, axis=0))
    return np.clip((X - middle.mean(0)) / (middle.std(0) + 1e-9), -8, 8)


def slow_probabilities(gold: Rows, X: torch.Tensor, temperature: float) -> np.ndarray:
    D, X = gold.X.double().numpy(), X.double().numpy()
    model = LogisticRegression(max_iter=300, random_state=0)
    model.fit(slow_view(D, D, False), gold.y.numpy())
    p = [model.predict_proba(slow_view(D, X, own)) ** (1 / temperature) for own in (False, True)]
    return np.mean([one / one.sum(1, keepdims=True) for one in p], 0)


def test_the_mean_of_both_views():
    gold, X = rows(0), rows(1, shift=5.0).X
    made, of = begun(gold)
    pseudo = made.label(step(gold, gold[:0], X), of)
    expected = slow_probabilities(gold, X, made.temperatures[0])
    np.testing.assert_allclose(pseudo.p, expected, atol=1e-6)
    assert pseudo.y.tolist() == expected.argmax(1).tolist() == pseudo.rows.y.tolist()
    assert torch.equal(of.rule.probabilities(X), pseudo.p)


@pytest.mark.parametrize("views", [["gold"], ["segment"]])
def test_the_segments_own_moments_undo_offset_and_gain(views):
    gold = rows(0, n=300)
    made, of = begun(gold, views=views)
    X = 3 * rows(1, n=300).X + 50
    right = (made.label(step(gold, gold[:0], X), of).y == gold.y).double().mean()
    assert right > 0.8 if views == ["segment"] else right < 0.6


def test_a_few_rows_keep_the_moments_of_the_last_segment():
    gold = rows(0)
    made, of = begun(gold, views=["segment"], few=30)
    X = rows(1).X + 7
    made.label(step(gold, gold[:0], X), of)
    before = made.moments
    made.label(step(gold, gold[:0], X[:29] - 90), of)
    assert support.bits(before) == support.bits(made.moments)
    made.label(step(gold, gold[:0], X[:30] - 90), of)
    assert support.bits(before) != support.bits(made.moments)


def test_temperature_has_the_least_log_loss():
    """Who says .9 and is right in .6 is cooled down; who says .6 and is right in .9 is not."""
    y = np.array([0] * 60 + [1] * 40)
    sure = np.tile([0.9, 0.1], (100, 1))
    assert sut.temperature(sure, y) == 4.0
    assert sut.temperature(np.tile([0.6, 0.4], (100, 1)), np.array([0] * 90 + [1] * 10)) == 0.5
    root = np.sqrt([0.9, 0.1])
    np.testing.assert_allclose(sut.tempered(sure, 2.0)[0], root / root.sum())


def test_left_out_rows_are_left_out():
    """1-NN is right on every row that it has seen, and on noise by chance."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    (p,) = sut.cross_validated([KNeighborsClassifier(1)], X, y, np.ones(200, bool), seed=0)
    assert p.shape == (200, 2)
    assert 0.35 < (p.argmax(1) == y).mean() < 0.65


def test_too_few_rows_of_a_class_are_said():
    gold = rows(0)
    few = Rows(gold.X[:9], gold.y[:9])
    made, of = begun(few)
    pseudo = made.label(step(few, few[:0], gold.X), of)
    assert np.isnan(made.accuracy) and made.temperatures == [1.0]
    assert "not calibrated" in pseudo.note
    made, of = begun(gold)
    assert made.label(step(gold, gold[:0], gold.X), of).note == ""


def test_a_rare_class_is_in_every_fit_and_never_scored():
    gold = rows(0)
    y = gold.y.clone()
    y[y == 2] = 0
    y[:3] = 2
    made, _ = begun(Rows(gold.X, y))
    assert 0 < made.accuracy < 1 and not np.isnan(made.accuracy)


def test_the_seed_decides_a_forest_and_threads_change_no_bit(monkeypatch):
    gold = rows(0)
    X = rows(1).X
    once = begun(gold, TREES, LOGISTIC)[1].rule.probabilities(X)
    monkeypatch.setattr(sut.os, "cpu_count", lambda: 1)
    assert torch.equal(once, begun(gold, TREES, LOGISTIC)[1].rule.probabilities(X))
    made = component("labeler", "vote", learners=[TREES])
    made.start(gold, of := learner(D, 4, C), Draws(1, "batches"))
    assert not torch.equal(begun(gold, TREES)[1].rule.probabilities(X), of.rule.probabilities(X))


def test_the_state_holds_no_learner_and_gives_the_same_vote():
    gold = rows(0)
    made, of = begun(gold, TREES)
    made.label(step(gold, gold[:0], rows(1, shift=9.0).X), of)
    state, again = made.state(), learner(D, 4, C)
    assert {*state} == {"seed", "moments", "temperatures", "accuracy", "sharpness"}
    component("labeler", "vote", learners=[TREES]).restore(state, gold, again)
    X = rows(2).X
    assert torch.equal(of.rule.probabilities(X), again.rule.probabilities(X))


def test_any_number_of_rows(monkeypatch):
    gold = rows(0)
    _, of = begun(gold)
    assert of.rule.probabilities(gold.X[:0]).shape == (0, C)
    whole = of.rule.probabilities(gold.X)
    monkeypatch.setattr(sut, "BLOCK", 7)
    np.testing.assert_allclose(of.rule.probabilities(gold.X), whole, atol=1e-12)


def test_a_classifier_of_ones_own_is_not_changed():
    own = clone(LogisticRegression())
    sut.fit(own, np.eye(2), np.array([0, 1]), 3)
    assert not hasattr(own, "coef_") and own.random_state is None
