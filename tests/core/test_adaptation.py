"""A running scale: the network stays the same function of raw rows while its inputs stay near 0."""

import numpy as np
import pytest
import support
import torch

from sdsl import experiment
from sdsl.core.learner import Learner
from sdsl.core.scaler import Scaler
from sdsl.errors import UserError

SEEDS = (3, 4)


def test_rescaling_changes_no_prediction():
    g = torch.Generator().manual_seed(0)
    X = torch.randn(2, 50, 3, generator=g) * 4 + 7
    old, new = Scaler.fit(X), Scaler.fit(X[:, :20] * 0.2 - 30)
    learner = Learner((3, 8, 6, 4), SEEDS)
    before = learner.probabilities(old(X))
    teacher = [p.clone() for p in learner.teacher]
    learner.rescale(old, new)
    torch.testing.assert_close(learner.probabilities(new(X)), before, rtol=1e-4, atol=1e-5)
    assert not torch.equal(learner.teacher[0], teacher[0])  # the teacher moves along
    assert torch.equal(learner.teacher[1], teacher[1])


def travelling(rows: int = 2400) -> support.Table:
    """Two classes, four standard deviations apart, that travel sixty together."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=rows)
    X = rng.normal(size=(rows, 2)) + np.c_[4 * y, np.zeros(rows)]
    return support.table(X + np.linspace(0, 60, rows)[:, None], y)


def test_true_labels_follow_classes_that_travel_far_only_on_a_running_scale():
    words = "method=oracle_labels", "eval.every=100"
    R = support.run(*words, "stream.scaler=running", seeds=(10,), data=travelling()).outcome.R
    assert np.diagonal(R[0, 1:]).mean() >= 0.92
    held = *words, "replay=flat_region", "stream.scaler=frozen"  # without letting go of anything
    with pytest.raises(UserError, match="in the replay, the network's parameters are no longer"):
        support.run(*held, seeds=(10,), data=travelling())


@pytest.mark.parametrize("method", ["scargc", "jt", "cotta", "sar", "static_bound"])
def test_what_keeps_scaled_things_of_its_own_is_refused(method):
    with pytest.raises(UserError, match=r"Set stream\.scaler=frozen"):
        experiment.setup(support.config(f"method={method}", "stream.scaler=running"))


def test_words_that_are_away_leave_no_scale_of_rounding_errors():
    """0 or 1, and all 0 in the last segment and in what is kept of the one before it."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1600)
    X = rng.normal(size=(1600, 20)) + 3 * y[:, None]
    X[:, 2:] = (rng.random((1600, 18)) < 0.03) & (np.arange(1600) < 1600 - 2 * 200)[:, None]
    words = "method=ours", "eval.every=100", "dataset.segment_size=200", "dataset.test_size=60"
    outcome = support.run(*words, data=support.table(X, y)).outcome
    assert torch.all(outcome.scaler.scale[:, 0, 2:] == 1)
