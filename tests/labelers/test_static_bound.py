"""The bound: reaches Bayes on a known mixture, R's rows are one, only the privileged foresee."""

import numpy as np
import support
import torch
from scipy.stats import norm

from sdsl.core.contract import Labeler, Pseudo
from sdsl.core.replica import Rows
from sdsl.labelers.none import NoLabels


def test_near_bayes_and_rows_of_R_equal():
    out = support.run("method=static_bound", seeds=(10,), data=gaussians(6000)).outcome
    assert np.ptp(out.R, axis=1).max() == 0
    assert abs(out.R.mean() - norm.cdf(1)) < 0.02  # means 2 sd apart


def test_a_changed_test_label_changes_no_choice():
    """Poisoned test parts move R, but neither the held-out accuracy nor the candidate."""
    data = gaussians(2000)
    trial = support.run("method=static_bound", seeds=(10,), data=data)
    stream, out = trial.stream, trial.outcome
    y = data.y.copy()
    y[stream.test[0].flatten().numpy()] = 0
    poisoned = support.run(
        "method=static_bound", seeds=(10,), data=support.table(data.X, y)
    ).outcome
    for name in ("heldout_acc", "candidate"):
        assert np.array_equal(out.curves[name], poisoned.curves[name])
    assert not np.array_equal(out.R, poisoned.R)


def test_only_the_privileged_foresee(monkeypatch):
    told = []
    monkeypatch.setattr(Labeler, "foresee", lambda self, parts: told.append(len(list(parts))))
    support.run("method=st", seeds=(10,))
    assert not told
    assert not NoLabels.privileged
    support.run("method=jt", seeds=(10,), data=gaussians(400))
    assert told == [3]


def test_labels_are_none_and_the_lookback_holds_no_truth():
    labeler = support.component("labeler", "static_bound")
    labeler.log = {}
    step = type("Step", (), {"X": torch.zeros(1, 3, 2)})
    pseudo: Pseudo = labeler.label(step, None)
    assert pseudo.y is None
    assert torch.equal(pseudo.rows.y, Rows.full(step.X, torch.zeros(1, 3).long()).y)


def gaussians(rows):
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 2
    X = rng.normal(0, 1, (rows, 2))
    X[:, 0] += 2 * y
    return support.table(X, y)
