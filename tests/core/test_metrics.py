"""Metrics against matrices worked out by hand, and counts against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score, recall_score

from sdsl.core import metrics
from sdsl.core.metrics import balanced_accuracy, confusion, macro_f1, recall, summarise

nan = np.nan
# After gold, and after each of three segments.
R = np.array([[0.6, 0.5, 0.4], [0.9, 0.7, 0.5], [0.8, 0.9, 0.6], [0.5, 0.7, 1.0]])


def test_metrics_by_hand():
    m = summarise(R)
    assert m.acc_online == pytest.approx((0.9 + 0.9 + 1.0) / 3)
    assert m.acc_final == pytest.approx((0.5 + 0.7 + 1.0) / 3)
    assert m.forgetting == pytest.approx((0.4 + 0.2) / 2)
    assert m.bwt == pytest.approx(-0.3)
    assert m.fwt == pytest.approx(((0.7 - 0.5) + (0.6 - 0.4)) / 2)
    assert m.prequential == pytest.approx((0.6 + 0.7 + 0.6) / 3)
    later = R.copy()  # forgetting counts from the peak
    later[2, 0], later[0, 0] = 1.0, 1.0  # what was known before segment 1 is not forgotten
    assert summarise(later).forgetting == pytest.approx((0.5 + 0.2) / 2)
    assert summarise(later).bwt == pytest.approx(-0.3)


def test_cells_that_were_not_evaluated_are_left_out():
    thin = R.copy()
    thin[3, 1] = thin[1, 2] = thin[0] = nan
    m = summarise(thin)
    assert m.acc_final == pytest.approx((0.5 + 1.0) / 2)
    assert m.forgetting == pytest.approx(0.4)
    assert m.prequential == pytest.approx((0.7 + 0.6) / 2)
    assert "fwt" not in m.as_dict()
    one = summarise(np.array([[0.4], [0.8]])).as_dict()  # a single segment
    assert one == {"acc_online": 0.8, "acc_final": 0.8, "prequential": 0.4}


def test_curves_by_hand():
    c = metrics.curves(R)
    np.testing.assert_allclose(c["online"], [0.9, 0.9, 1.0])
    np.testing.assert_allclose(c["online_mean"], [0.9, 0.9, 2.8 / 3])
    np.testing.assert_allclose(c["past_mean"], [0.9, 0.85, 2.2 / 3])
    np.testing.assert_allclose(c["final"], [0.5, 0.7, 1.0])
    np.testing.assert_allclose(c["prequential"], [0.6, 0.7, 0.6])
    np.testing.assert_allclose(c["gold_only"], [0.6, 0.5, 0.4])


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.parametrize("seed", range(5))
def test_as_scikit_learn_has_it(seed):
    """Class 3 does not occur, class 4 is not predicted either."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(4, size=(2, 40), p=[0.7, 0.2, 0.1, 0])
    predicted = np.where(rng.random((2, 40)) < 0.7, truth, rng.integers(4, size=(2, 40)))
    counts = confusion(predicted.ravel(), truth.ravel(), 5, np.array([40, 40]))
    for found, recalls, y, p in zip(counts, recall(counts), truth, predicted, strict=True):
        assert np.array_equal(found, confusion_matrix(y, p, labels=range(5)))
        assert balanced_accuracy(found) == pytest.approx(balanced_accuracy_score(y, p))
        assert macro_f1(found) == pytest.approx(f1_score(y, p, average="macro"))
        expected = recall_score(y, p, average=None, labels=np.unique(y))
        np.testing.assert_allclose(recalls[np.unique(y)], expected)
        assert np.isnan(recalls[3:]).all()


def test_accuracy_hides_what_balanced_accuracy_shows():
    """All rows to the large class: 19 of 20 right, and one class of two found."""
    steps = np.array([[[95, 0], [5, 0]]] * 3)
    final = np.array([[[95, 0], [0, 5]]] * 3)
    m = metrics.summarise_classes(steps, final)
    assert (m.balanced_acc_online, m.balanced_acc_final, m.macro_f1_final) == (0.5, 1, 1)
    assert m.macro_f1_online == pytest.approx(2 * 95 / 195 / 2)
    assert m.class_imbalance == 19 and m.majority == pytest.approx(0.95)


def test_the_best_constant_answer_weighs_segments_as_accuracies_do():
    """Class 0 has most rows; class 1 is ahead in two of three segments."""
    rows = np.array([[90, 10], [2, 8], [4, 6]])
    steps = rows[:, :, None] * np.array([1, 0])  # all predicted as class 0
    found = metrics.summarise_classes(steps, steps).majority
    assert found == pytest.approx((0.9 + 0.2 + 0.4) / 3)
    assert metrics.summarise_classes(steps[1:], steps[1:]).majority == pytest.approx(0.7)


@pytest.mark.parametrize(("y", "truth", "accuracy"), [
    ([0, 1, 2, 2], [0, 1, 2, 2], 1.0),
    ([1, 0, 0, 0], [0, 1, 1, 1], 1.0),  # two classes in each other's place
    ([1, 2, 0, 0], [0, 1, 2, 1], 0.75),  # a cycle, and one plain error
    ([0, 0, 0, 0], [0, 0, 1, 1], 0.5),  # a collapse is no swap
])  # fmt: skip
def test_best_relabelling(y, truth, accuracy):
    assert metrics.best_relabelling(confusion(np.array(y), np.array(truth), 3)) == accuracy


def test_a_lasting_swap_is_a_tenth_of_the_stream():
    relabelled = np.full(8, 0.95)
    accuracy = np.array([0.95, 0.05, 0.05, 0.9, 0.1, 0.1, 0.1, 0.9])
    assert metrics.swap_steps(accuracy, relabelled) == 3  # the longest run
    assert metrics.swap_steps(relabelled, relabelled) == 0
    assert metrics.swap_steps(accuracy, relabelled, gap=0.02) == 7
    lasting = [metrics.is_lasting(*case) for case in ((2, 8), (3, 8), (3, 40), (4, 40))]
    assert lasting == [False, True, False, True]


def test_said_against_right_by_hand():
    said = np.array([0.55, 0.55, 0.81, 0.89, 1.0])
    table = metrics.reliability(said, np.array([True, False, True, True, True]))
    assert table[27].tolist() == [2, 1.1, 1] and table[49].tolist() == [1, 1, 1]
    off = abs(1.1 - 1) + abs(1.7 - 2) + 0  # .81 and .89 are in one of ten steps
    assert metrics.calibration_error(table) == pytest.approx(off / 5)
    assert metrics.accuracy_at(table, np.array([0.2, 0.6, 0.8, 1.0])).tolist() == [1, 1, 7 / 8, 0.8]
