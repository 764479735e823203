"""Every statistic against numbers worked out by hand or printed in a table."""

import math

import numpy as np
import pandas as pd
import pytest

from sdsl.report.claims import statistics


def test_a_paired_difference_uses_common_seeds_only():
    gap = statistics.paired(
        pd.Series({0: 0.9, 1: 0.8, 2: 0.7}), pd.Series({0: 0.8, 1: 0.7, 9: 0.1})
    )
    assert gap.n == 2
    assert gap.mean == pytest.approx(0.1)
    assert gap.interval.low == gap.interval.high == pytest.approx(0.1)  # equal differences
    assert statistics.paired(pd.Series({0: 1.0}), pd.Series({1: 1.0})) is None


def test_one_seed_gives_no_interval():
    gap = statistics.paired(pd.Series({0: 0.9}), pd.Series({0: 0.8}))
    assert gap.n == 1
    assert math.isnan(gap.interval.low)


def test_the_bootstrap_of_two_values():
    # Means of two draws from {0, 1}: 0, 1/2, 1 with chances 1/4, 1/2, 1/4.
    assert statistics.bootstrap(np.array([0.0, 1.0])) == statistics.Interval(0.0, 1.0)
    # All five draws equal has chance 5^-5 < .025, so that the interval is inside the range.
    interval = statistics.bootstrap(np.array([0.0, 0.0, 0.0, 0.0, 1.0]))
    assert interval.low == 0.0  # no draw of the 1: .8^5 = .33
    assert interval.high == pytest.approx(0.6)  # three or more of it: .058; four or more: .007


def test_the_bootstrap_is_deterministic_whatever_numpys_state():
    values = np.random.default_rng(3).normal(size=5)
    first = statistics.bootstrap(values)
    np.random.default_rng(0).normal(size=100)
    assert statistics.bootstrap(values) == first


def test_the_interquartile_mean():
    # 1..8: the middle half is 3, 4, 5, 6.
    found = statistics.interquartile_mean({"a": np.arange(1.0, 5.0), "b": np.arange(5.0, 9.0)})
    assert found.mean == 4.5
    assert found.n == 8
    # Redrawn within a dataset: the middle half never leaves the range of its stratum.
    assert 2.0 < found.interval.low < 4.5 < found.interval.high < 7.0


def test_mean_ranks_with_a_tie():
    means = pd.DataFrame({"a": [0.9, 0.5], "b": [0.8, 0.5], "c": [0.7, 0.6]})
    assert statistics.mean_ranks(means).to_dict() == {"a": 1.75, "b": 2.25, "c": 2.0}


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (5, 2.728), (7, 2.949), (10, 3.164)])
def test_the_critical_difference_is_demsars(methods, q):
    """Demsar 2006, Table 5(a), alpha = .05."""
    expected = q * math.sqrt(methods * (methods + 1) / (6 * 8))
    assert statistics.critical_difference(methods, 8) == pytest.approx(expected, abs=1e-3)


def test_the_note_on_power():
    assert "is 3.18 ranks" in statistics.power_note(7, 8)


def test_friedman_needs_three_methods():
    assert math.isnan(statistics.friedman(pd.DataFrame({"a": [1, 2], "b": [2, 1]})))
    # Three methods ranked alike on two datasets: chi2 = 12/(2*3*4) * (4+16+36) - 3*2*4 = 4; df 2.
    same = pd.DataFrame({"a": [0.9, 0.8], "b": [0.7, 0.6], "c": [0.5, 0.4]})
    assert statistics.friedman(same) == pytest.approx(math.exp(-2))
