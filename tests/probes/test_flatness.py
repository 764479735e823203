"""The flatness probe: nothing at b = 0, a slow loop's accuracies elsewhere, seeds independent."""

from functools import partial

import numpy as np
import pytest
import support

from sdsl.core.metrics import summarise
from sdsl.core.replica import Draws

SEEDS = (10, 11)
DATA = support.blobs(rows=300, classes=3, drift=1.0, spread=1.0)
SMALL = ["learner.hidden=[6]", "learner.pretrain.steps=50"]
SIZES = {"data": DATA, "segment_size": 60, "test_size": 20}
flatness = partial(support.component, "probe", "flatness")


@pytest.fixture(scope="module")
def finished():
    trial = support.run("method=st", *SMALL, seeds=SEEDS, **SIZES)
    return trial.stream, trial.outcome


def slow_accuracy(stream, outcome, s: int, b: float, low: float, draws: int) -> float:
    """Mean accuracy over the draws, one noisy network and one row at a time."""
    X, y = (part[s].flatten(0, 1) for part in stream.tests())
    X = ((X - outcome.scaler.mean[s]) / outcome.scaler.scale[s]).numpy()
    noise = Draws(stream.seeds, "probe")
    unit = [noise.uniform(draws, *p.shape[1:])[s].double().numpy() for p in outcome.learner.theta]
    hits = []
    for k in range(draws):
        theta = support.plain(outcome.learner.theta, s)
        shaken = [p + b * (low + (1 - low) * u[k]) for p, u in zip(theta, unit, strict=True)]
        hits += [support.mlp(x[None], shaken)[1].argmax() == c for x, c in zip(X, y, strict=True)]
    return np.mean(hits)


def test_without_noise_it_is_the_final_accuracy(finished):
    curves = flatness(bounds=[0.0]).measure(*finished)
    expected = [[summarise(r).acc_final] for r in finished[1].R]
    for name in ("flatness_one_sided", "flatness_symmetric"):
        np.testing.assert_allclose(curves[name], expected)


@pytest.mark.parametrize(("name", "low"), [("flatness_one_sided", 0), ("flatness_symmetric", -1)])
def test_noise_against_a_slow_loop(name, low, finished):
    bounds = [0.4, 1.5]
    curve = flatness(bounds=bounds, noise_draws=3).measure(*finished)[name]
    slow = [[slow_accuracy(*finished, s, b, low, 3) for b in bounds] for s in range(2)]
    np.testing.assert_allclose(curve, slow, atol=1e-12)


def test_much_noise_costs_accuracy_and_a_little_does_not(finished):
    for curve in flatness(bounds=[0.0, 0.01, 20.0]).measure(*finished).values():
        assert (curve[:, 0] > curve[:, 2] + 0.2).all()
        assert (abs(curve[:, 0] - curve[:, 1]) < 0.05).all()


def test_fewer_rows_are_spread_over_the_whole_stream(finished):
    stream, outcome = finished
    some = flatness(bounds=[0.0], rows=7).measure(stream, outcome)["flatness_one_sided"]
    X, y = (part.flatten(1, 2) for part in stream.tests())
    spread = [0, 13, 26, 40, 53, 66, 79]  # of 4 x 20 test rows
    right = outcome.learner.predict(outcome.scaler(X[:, spread])) == y[:, spread]
    np.testing.assert_allclose(some[:, 0], right.double().mean(1))


def test_a_seed_has_the_same_curve_alone_and_the_model_stays_as_it_was(finished):
    stream, outcome = finished
    before = outcome.learner.copy()
    fused = flatness(noise_draws=2).measure(stream, outcome)
    assert all((p == q).all() for p, q in zip(outcome.learner.theta, before, strict=True))
    single = support.run("method=st", *SMALL, seeds=SEEDS[1:], **SIZES)
    alone = flatness(noise_draws=2).measure(single.stream, single.outcome)
    for name, curve in fused.items():
        assert np.array_equal(curve[1], alone[name][0])


def test_a_run_brings_the_curves_along():
    short = ["probe=flatness", "probe.noise_draws=2", "learner.pretrain.steps=5"]
    curves = support.run("method=st", *short, seeds=SEEDS, **SIZES).probed
    assert {name: curve.shape for name, curve in curves.items()} == {
        "flatness_one_sided": (2, 7),
        "flatness_symmetric": (2, 7),
    }


def test_a_classifier_without_parameters_has_no_curve():
    words = "method=scargc", "probe=flatness", *SMALL
    curves = support.run(*words, seeds=SEEDS, **SIZES).probed
    assert curves == {}
