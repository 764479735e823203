"""The bound: near Bayes on a known mixture, one classifier for all rows of R, blind to tests."""

import numpy as np
import pytest
import support
from scipy.stats import norm


def gaussians(rows: int) -> support.Table:
    """Two classes whose means are two deviations apart."""
    rng, y = np.random.default_rng(0), np.arange(rows) % 2
    return support.table(rng.normal(size=(rows, 2)) + 2 * y[:, None] * [1, 0], y)


def test_near_bayes_and_rows_of_R_equal():
    R = support.run("method=static_bound", data=gaussians(6000)).outcome.R
    assert np.ptp(R, axis=0).max() == 0
    assert R.mean() == pytest.approx(norm.cdf(1), abs=0.02)


def test_a_changed_test_label_changes_no_choice():
    data = gaussians(2000)
    trial = support.run("method=static_bound", data=data)
    y = data.y.copy()
    y[np.concatenate(trial.stream.test)] = 0
    poisoned = support.run("method=static_bound", data=support.table(data.X, y)).outcome
    for name in ("heldout_acc", "candidate"):
        assert np.array_equal(trial.outcome.curves[name], poisoned.curves[name])
    assert not np.array_equal(trial.outcome.R, poisoned.R)
