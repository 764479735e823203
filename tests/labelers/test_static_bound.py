"""The bound: near Bayes on a known mixture, one classifier for all rows of R, blind to tests."""

import numpy as np
import pytest
import support
from scipy.stats import norm

from sdsl.labelers import static_bound


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
    y[trial.stream.test.flatten().numpy()] = 0
    poisoned = support.run("method=static_bound", data=support.table(data.X, y)).outcome
    for name in ("heldout_acc", "candidate"):
        assert np.array_equal(trial.outcome.curves[name], poisoned.curves[name])
    assert not np.array_equal(trial.outcome.R, poisoned.R)


@pytest.mark.parametrize(
    ("n", "classes", "kinds"),
    [(400, 2, "TTNNNSSS"), (60, 2, "TTNNSSS"), (20_000, 2, "TTNNN"), (5, 5, "TTSSS")],
)
def test_candidates_as_far_as_rows_allow(n, classes, kinds):
    """Trees; neighbours where there are as many; support vectors where they are affordable."""
    y = np.arange(n) % classes
    made = static_bound.candidates(y)
    initials = {"HistGradientBoostingClassifier": "T", "KNeighborsClassifier": "N", "SVC": "S"}
    assert "".join(initials[type(model).__name__] for model in made) == kinds
    assert made[0].early_stopping == (n >= 10 * classes)
