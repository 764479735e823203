"""Confusion counts by hand and against scikit-learn; what a run counts, step by step."""

import numpy as np
import pytest
import support
import torch
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score, recall_score

from sdsl.core.confusion import balanced_accuracy, counted, macro_f1, recall, summarise

BY_HAND = np.array([[8, 2, 0], [1, 1, 0], [0, 0, 0]])  # 10 rows of class 0, 2 of 1, none of 2


def test_by_hand():
    np.testing.assert_allclose(recall(BY_HAND), [0.8, 0.5, np.nan])
    assert balanced_accuracy(BY_HAND) == pytest.approx(0.65)
    # F1: 2 * 8 / (10 + 9) and 2 * 1 / (2 + 3); class 2 neither occurs nor is predicted
    assert macro_f1(BY_HAND) == pytest.approx((16 / 19 + 2 / 5) / 2)
    assert np.isnan(balanced_accuracy(np.zeros((3, 3))))


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.parametrize("seed", range(5))
def test_as_scikit_learn_has_it(seed):
    rng = np.random.default_rng(seed)
    truth = rng.choice(4, size=40, p=[0.7, 0.2, 0.1, 0])
    said = np.where(rng.random(40) < 0.7, truth, rng.integers(4, size=40))
    K = counted(torch.from_numpy(said), torch.from_numpy(truth), 4).numpy()
    assert np.array_equal(K, confusion_matrix(truth, said, labels=range(4)))
    assert balanced_accuracy(K) == pytest.approx(balanced_accuracy_score(truth, said))
    assert macro_f1(K) == pytest.approx(f1_score(truth, said, average="macro"))
    here = np.unique(truth)
    expected = recall_score(truth, said, average=None, labels=here)
    np.testing.assert_allclose(recall(K)[here], expected)


def test_every_step_is_counted_for_each_seed():
    data = support.blobs(500, classes=3, drift=2.0)
    trial = support.run("method=pl_conf", seeds=(0, 1), data=data)
    out, q = trial.outcome, trial.stream.q
    T = trial.stream.T
    assert out.confusion.shape == out.final_confusion.shape == (2, T, 3, 3)
    right = np.trace(out.confusion, axis1=2, axis2=3) / q
    assert np.array_equal(right, out.R[:, range(1, T + 1), range(T)])
    right = np.trace(out.final_confusion, axis1=2, axis2=3) / q
    assert np.array_equal(right, out.R[:, T])
    truth = trial.stream.tests()[1]
    rows = torch.nn.functional.one_hot(truth, 3).sum(2).numpy()
    assert np.array_equal(out.confusion.sum(3), rows)
    alone = support.run("method=pl_conf", seeds=(1,), data=data).outcome
    assert np.array_equal(alone.confusion[0], out.confusion[1])


@pytest.mark.parametrize("words", [(), ("eval.every=3",), ("eval.columns=2", "eval.every=2")])
def test_a_model_that_never_moves_is_counted_once(words):
    data = support.blobs(500, drift=2.0)
    thin = support.run("method=st", *words, seeds=(0,), data=data).outcome
    whole = support.run("method=st", seeds=(0,), data=data).outcome
    assert np.array_equal(thin.confusion, whole.confusion)
    known = np.isfinite(thin.R[0, -1])
    assert np.array_equal(thin.final_confusion[0, known], whole.final_confusion[0, known])
    assert not thin.final_confusion[0, ~known].any()


def test_accuracy_hides_what_balanced_accuracy_shows():
    """All rows to the large class: 19 of 20 right, and one class of two found."""
    steps = np.array([[[95, 0], [5, 0]]] * 3)
    found = summarise(steps, steps)
    assert (found.balanced_acc_online, found.balanced_acc_final) == (0.5, 0.5)
    assert found.macro_f1_online == pytest.approx(2 * 95 / 195 / 2)
    assert found.class_imbalance == 19
