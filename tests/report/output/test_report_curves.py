"""The figures draw the curves that the ledger logs."""

import numpy as np
import pytest

from sdsl.core import metrics
from sdsl.report.output import curves

LOGGED = {
    "online": curves.ONLINE,
    "online_mean": curves.ONLINE_MEAN,
    "past_mean": curves.PAST_MEAN,
    "final": curves.FINAL,
}


@pytest.mark.parametrize("name", LOGGED)
@pytest.mark.parametrize("T", [1, 2, 60])
def test_a_curve_over_runs_is_that_of_every_run(name, T):
    rng = np.random.default_rng(T)
    R = rng.binomial(30, 0.7, (3, T + 1, T)) / 30
    R[:, rng.random((T + 1, T)) < 0.3] = np.nan  # not evaluated
    drawn = LOGGED[name].of(R[:, 1:])
    for run, curve in zip(R, drawn, strict=True):
        np.testing.assert_array_equal(curve, metrics.curves(run)[name])
