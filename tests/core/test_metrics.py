"""Metrics against matrices worked out by hand; the best renaming of classes; lasting swaps."""

import numpy as np
import pytest
import support
import torch

from sdsl.core.confusion import counted
from sdsl.core.metrics import best_relabelling, curves, lasting_swap, summarise

nan = np.nan
R = np.array(
    [
        [0.6, 0.5, 0.4],  # after gold
        [0.9, 0.7, 0.5],  # after segment 1
        [0.8, 0.9, 0.6],
        [0.5, 0.7, 1.0],
    ]
)


def test_metrics_by_hand():
    m = summarise(R)
    assert m.acc_online == pytest.approx((0.9 + 0.9 + 1.0) / 3)
    assert m.acc_final == pytest.approx((0.5 + 0.7 + 1.0) / 3)
    assert m.forgetting == pytest.approx((0.4 + 0.2) / 2)
    assert m.bwt == pytest.approx(-0.3)
    assert m.forgetting_max == pytest.approx((0.4 + 0.2) / 2)
    assert m.fwt == pytest.approx(((0.7 - 0.5) + (0.6 - 0.4)) / 2)
    assert m.prequential == pytest.approx((0.6 + 0.7 + 0.6) / 3)
    assert m.coverage == 1


def test_forgetting_from_the_peak_counts_a_later_rise():
    later = R.copy()
    later[2, 0] = 1.0
    m = summarise(later)
    assert m.forgetting_max == pytest.approx((0.5 + 0.2) / 2)
    assert m.forgetting == pytest.approx(0.3)


def test_cells_that_were_not_evaluated_are_left_out():
    thin = R.copy()
    thin[3, 1] = thin[1, 2] = nan
    m = summarise(thin)
    assert m.acc_final == pytest.approx((0.5 + 1.0) / 2)
    assert m.forgetting == pytest.approx(0.4)
    assert m.coverage == pytest.approx(7 / 9)


def test_a_stream_of_one_segment_has_no_forgetting():
    m = summarise(np.array([[0.4], [0.8]]))
    assert (m.acc_online, m.acc_final, m.prequential) == (0.8, 0.8, 0.4)
    assert {"forgetting", "bwt", "fwt"}.isdisjoint(m.as_dict())


def test_curves_by_hand():
    c = curves(R)
    np.testing.assert_allclose(c["online"], [0.9, 0.9, 1.0])
    np.testing.assert_allclose(c["online_mean"], [0.9, 0.9, 2.8 / 3])
    np.testing.assert_allclose(c["past_mean"], [0.9, 0.85, 2.2 / 3])
    np.testing.assert_allclose(c["final"], [0.5, 0.7, 1.0])
    np.testing.assert_allclose(c["prequential"], [0.6, 0.7, 0.6])
    np.testing.assert_allclose(c["gold_only"], [0.6, 0.5, 0.4])


def test_no_metric_changes_its_argument():
    before = R.copy()
    curves(R)["final"][:] = 0
    summarise(R)
    assert np.array_equal(R, before)


def test_a_model_that_is_never_adapted_has_one_accuracy():
    """ST: R does not depend on the row, so Acc_t = Acc_T exactly."""
    outcome = support.run("method=st", seeds=(0, 1, 2), data=support.blobs(500, drift=2.0)).outcome
    for r in outcome.R:
        m = summarise(r)
        assert m.acc_online == m.acc_final
        assert m.forgetting == m.bwt == m.fwt == 0
        assert 0 < m.acc_online < 1


@pytest.mark.parametrize(
    ("y", "truth", "accuracy", "renamed"),
    [
        ([0, 1, 2, 2], [0, 1, 2, 2], 1.0, False),
        ([1, 0, 0, 0], [0, 1, 1, 1], 1.0, True),  # two classes in each other's place
        ([1, 2, 0, 0], [0, 1, 2, 1], 0.75, True),  # a cycle, and one plain error
        ([0, 0, 0, 0], [0, 0, 1, 1], 0.5, False),  # a collapse is no swap
        ([], [], 0.0, False),
    ],
)
def test_best_relabelling(y, truth, accuracy, renamed):
    said, true = torch.tensor(y, dtype=torch.long), torch.tensor(truth, dtype=torch.long)
    assert best_relabelling(counted(said, true, 3).numpy()) == (accuracy, renamed)


def test_lasting_swap_is_the_longest_run():
    relabelled = np.full(8, 0.95)
    accuracy = np.array([0.95, 0.05, 0.05, 0.9, 0.1, 0.1, 0.1, 0.9])
    assert lasting_swap(accuracy, relabelled) == 3
    assert lasting_swap(relabelled, relabelled) == 0
    assert lasting_swap(accuracy, relabelled, gap=0.02) == 7
