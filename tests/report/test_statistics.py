"""Intervals, ranks and interquartile means, against SciPy and hand-made numbers."""

import numpy as np
import pandas as pd
import pytest
from made_runs import joined, made
from scipy import stats

from sdsl.report import statistics
from sdsl.report.statistics import differences, interquartile_mean, paired, ranking, t_interval


def test_pairs_are_the_common_seeds():
    a, b = pd.Series({0: 0.9, 1: 0.7, 2: 0.1}), pd.Series({1: 0.5, 0: 0.8, 7: 0.0})
    found = paired(a, b)
    assert found.n == 2 and found.mean == pytest.approx(0.15)
    assert (found.low, found.high) == pytest.approx((0.15 - 0.6353, 0.15 + 0.6353), abs=1e-4)
    assert paired(a, pd.Series({7: 0.0})) is None


def test_the_interval_is_students():
    values = np.array([0.1, 0.4, 0.2, 0.3, 0.5])
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert t_interval(values) == pytest.approx((low, high))
    assert np.isnan(t_interval(np.array([0.5]))).all()
    low, high = t_interval(np.array([0.9 - 0.8, 0.8 - 0.7]))
    assert low == high, "differences that are equal but for their last bit"


def test_mean_ranks_share_ties():
    means = pd.DataFrame({"a": [0.9, 0.5], "b": [0.9, 0.7], "c": [0.1, 0.6]})
    assert statistics.mean_ranks(means).to_dict() == {"a": 2.25, "b": 1.25, "c": 2.5}


def test_the_interquartile_mean():
    found = interquartile_mean({"x": np.array([0.0, 7, 2, 3]), "y": np.array([4.0, 5, 6, 1])})
    assert (found.mean, found.n) == (3.5, 8)  # of 2, 3, 4 and 5
    assert found.low < 3.5 < found.high
    same = interquartile_mean({"x": np.full(3, 0.5)})
    assert (same.mean, same.low, same.high) == (0.5, 0.5, 0.5)


def test_a_ranking_is_of_methods_without_labels_that_ran_on_all_streams():
    runs = joined(
        made("spam", ours=[0.8, 0.8], st=[0.7, 0.7], record=[0.7, 0.7], jt=[1.0], gst=[0.9]),
        made("twonorm", ours=[0.6, 0.7], st=[0.7, 0.6], record=[0.1, 0.2], static_bound=[1.0]),
        made("mine", ours=[0.0], st=[1.0]),
    )
    found = ranking(runs, "acc_online")
    assert found.streams == ["spam", "twonorm"] and [*found.table.index] == ["ours", "st", "record"]
    assert found.table["rank"].tolist() == [1.25, 2.0, 2.75]  # ties: 1.5 twice, and 2.5 twice
    assert found.table.loc["ours", "lowest"] == pytest.approx(0.65)
    assert found.table.loc["record", "mean"] == pytest.approx(0.425)
    assert found.table.loc["record", "iqm"] == pytest.approx(0.45)  # of 0.2 and 0.7
    assert found.table.runs.tolist() == [4, 4, 4]
    assert found.alike == ["st"]  # where only twonorm is drawn, and Ours has its 0.6 twice
    assert found.table.loc["record", "ahead"] == 0 and found.leads == []
    assert (found.table.low <= found.table["rank"]).all()
    again = ranking(runs, "acc_online")
    pd.testing.assert_frame_equal(again.table, found.table, check_exact=True)


def test_rankings_with_a_known_answer():
    clear = ranking(made("mine", a=[0.9, 0.8], b=[0.1, 0.2]), "acc_final")
    assert clear.table.loc["a", ["rank", "low", "high", "first"]].tolist() == [1, 1, 1, 1]
    assert clear.best == "a" and clear.alike == [] and clear.table.loc["b", "ahead"] == 0
    level = ranking(made(ours=[0.6], st=[0.6]), "acc_final")
    assert level.table[["rank", "first", "ahead"]].to_numpy().tolist() == [[1.5, 1, 1]] * 2
    parts = [made(s, a=[0.9], b=[0.5]) for s in ("x", "y")]
    led = ranking(joined(*parts, made("z", a=[0.7], b=[0.75])), "acc_final")
    assert led.leads == [("z", "b", 0.75, 0.7)]
    assert ranking(made(ours=[0.5], jt=[0.9]), "acc_final") is None  # one method alone


def test_differences_to_every_method():
    found = differences(made(ours=[0.8, 0.6], st=[0.5, 0.4], jt=[0.9]), "acc_final")
    found = found.set_index("method")[["difference", "low", "high", "n"]]
    expected = [0.25, 0.25 - 0.6353, 0.25 + 0.6353, 2]
    assert found.loc["st"].tolist() == pytest.approx(expected, abs=1e-4)
    assert found.loc["jt"].tolist() == pytest.approx([-0.1, np.nan, np.nan, 1], nan_ok=True)
