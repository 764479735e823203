"""The flatness probe: nothing at b = 0, a slow loop's accuracies elsewhere."""

import numpy as np
import pytest
import support
import torch

from sdsl.config.schema import component
from sdsl.core.draws import Draws
from sdsl.core.metrics import summarise
from sdsl.core.rows import Rows

SMALL = ("learner.hidden=[6]", "learner.pretrain.steps=50", "stream.scaler=frozen")
DATA = support.blobs(rows=300, classes=3, drift=1.0, spread=1.0)
SIZES = {"data": DATA, "segment_size": 60, "test_size": 20}


@pytest.fixture(scope="module")
def finished():
    trial = support.run("method=st", *SMALL, **SIZES)
    return trial.stream, trial.outcome


def measured(finished, **settings) -> dict:
    return component("probe", "flatness", **settings).measure(*finished)


def slow_accuracy(stream, outcome, b: float, low: float, draws: int) -> float:
    """Mean accuracy over the draws, one noisy network and one row at a time."""
    tests = Rows.cat(*stream.tests())
    X, y = ((tests.X - outcome.scaler.mean) / outcome.scaler.scale).numpy(), tests.y
    noise, theta = Draws(stream.seed, "probe"), support.plain(outcome.learner.theta)
    unit = [noise.uniform(draws, *p.shape).double().numpy() for p in theta]
    hits = []
    for k in range(draws):
        shaken = [p + b * (low + (1 - low) * u[k]) for p, u in zip(theta, unit, strict=True)]
        hits += [support.mlp(x[None], shaken)[1].argmax() == c for x, c in zip(X, y, strict=True)]
    return np.mean(hits)


@pytest.mark.parametrize(("name", "low"), [("flatness_one_sided", 0), ("flatness_symmetric", -1)])
def test_noise_against_a_slow_loop(name, low, finished):
    """Without noise it is Acc_T; much noise costs accuracy, and the model stays as it was."""
    before, bounds = finished[1].learner.copy(), [0.0, 0.4, 1.5, 20.0]
    curve = measured(finished, bounds=bounds, noise_draws=3)[name]
    slow = [slow_accuracy(*finished, b, low, 3) for b in bounds]
    np.testing.assert_allclose(curve, slow, atol=1e-12)
    assert curve[0] == pytest.approx(summarise(finished[1].R).acc_final)
    assert curve[0] > curve[3] + 0.2
    assert support.bits(finished[1].learner.theta) == support.bits(before)


def test_fewer_rows_are_spread_over_the_whole_stream(finished):
    stream, outcome = finished
    some = measured(finished, bounds=[0.0], rows=7)["flatness_one_sided"]
    rows = Rows.cat(*stream.tests())[torch.tensor([0, 13, 26, 40, 53, 66, 79])]  # of 4 x 20
    right = outcome.learner.predict(outcome.scaler(rows.X)) == rows.y
    assert some.tolist() == [right.double().mean()]


@pytest.mark.parametrize(("method", "names"), [("st", 2), ("scargc", 0)])
def test_a_run_brings_the_curves_along(method, names):
    """1-NN has no parameters to add noise to."""
    words = f"method={method}", "probe=flatness", "probe.noise_draws=2", *SMALL
    probed = support.run(*words, **SIZES).probed
    assert [curve.shape for curve in probed.values()] == [(7,)] * names
