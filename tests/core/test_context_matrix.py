"""R_context, only where asked for and offered; and how many numbers a method holds."""

from dataclasses import dataclass

import numpy as np
import pytest
import support
import torch

from sdsl.core.contract import Replay
from sdsl.core.metrics import summarise_context
from sdsl.tracking.run_summary import summarise


class Majority:
    """Row by row: the sign of the first feature. In context: the majority of these for all rows."""

    def __call__(self, x):
        return (x[..., 0] > 0).long()

    def context(self, x):
        said = self(x)  # [S, B, q]
        return (said.double().mean(2, keepdim=True) > 0.5).long().expand_as(said)


@dataclass
class Installs(Replay):
    def start(self, gold, learner, draws):
        learner.classifier = Majority()

    def replay(self, step, pseudo, learner):
        if step.t % 2:  # every second model is the one before
            learner.classifier = Majority()
        return {}


def run(*words, replay=None):
    cfg = support.config("method=st", *words) | {"dataset": support.small(60, 20)}
    setup = support.experiment.setup(cfg)
    if replay:
        setup.method.__dict__["replay"] = replay
    return support.experiment.run(setup, (0, 1), support.blobs(rows=360, drift=1.0))


@pytest.mark.parametrize("cells", [(), ("eval.every=3",), ("eval.columns=2",)])
def test_R_context_is_that_of_a_slow_loop(cells):
    found = run("eval.context=true", *cells, replay=Installs())
    out, (X, y) = found.outcome, found.stream.tests()
    assert np.array_equal(np.isnan(out.R), np.isnan(out.R_context))
    for s, t, j in np.argwhere(~np.isnan(out.R_context)):
        x = out.scaler(X[:, j])[s]
        said = int((x[:, 0] > 0).double().mean() > 0.5)
        assert out.R_context[s, t, j] == float((y[s, j] == said).double().mean())
    assert not np.array_equal(out.R, out.R_context, equal_nan=True)


def test_not_asked_for_or_not_offered():
    assert run(replay=Installs()).outcome.R_context is None
    assert run("eval.context=true").outcome.R_context is None


def test_metrics_of_their_own():
    out = run("eval.context=true", replay=Installs()).outcome
    numbers = summarise(out, {}, 1, ("a", "b")).metrics
    R = out.R_context[1, 1:]
    assert numbers["acc_online_context"] == pytest.approx(np.diagonal(R).mean())
    assert numbers["acc_final_context"] == pytest.approx(R[-1].mean())
    assert numbers["acc_online"] == pytest.approx(np.diagonal(out.R[1, 1:]).mean())
    assert summarise_context(out.R_context[1]).keys() <= numbers.keys()
    plain = summarise(run(replay=Installs()).outcome, {}, 1, ("a", "b")).metrics
    assert not any(name.endswith("_context") for name in plain)


# By their own definition; ours_tracker holds the tracker's bank besides the network.
EXCEPTIONS = {"jt", "record", "ours_record", "scargc", "static_bound", "ours_tracker"}


@pytest.mark.parametrize("method", sorted(set(support.METHODS) - EXCEPTIONS))
def test_every_method_holds_to_the_budget(method):
    cfg = support.brief(support.config(f"method={method}")) | {"dataset": support.small(60, 20)}
    out = support.trial(cfg, (0,), support.blobs(rows=240, classes=3, drift=1.0)).outcome
    d, C = 2, 3
    assert out.curves["memory_numbers"].max() <= 100 * (d + 1)
    assert out.curves["model_numbers"].max() <= 100 * (d + 1) + 101 * 100 + 101 * C
    assert torch.tensor(out.curves["model_numbers"]).isfinite().all()
