"""Alarms without labels: each is raised by a stream built for it, and calm streams raise none."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from sdsl.estimator import StreamClassifier
from sdsl.use.monitor import ABOVE, BELOW, Monitor, estimated

SIZE, STEPS = 150, 6
EVEN = np.full(2, 0.5)
APART = np.array([[-2.0, 0, 0, 0], [2.0, 0, 0, 0]])  # [C, d] centres of two classes


def stream(shares: Callable = lambda t: EVEN) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Segments 0..STEPS of two Gaussian classes with shares(t) [C]."""
    rng = np.random.default_rng(0)
    for t in range(STEPS + 1):
        y = rng.choice(2, SIZE, p=shares(t))
        yield rng.normal(0, 0.5, (SIZE, 4)) + APART[y], y


def alarms(segments, method: str = "vote") -> list[str]:
    """The warnings of each step."""
    gold, *rest = segments
    model = StreamClassifier(method).fit(*gold)
    list(map(model.adapt, (X for X, _ in rest)))
    return model.history_.warnings.tolist()


@pytest.mark.parametrize("method", ["st", "ours", "tracker", "vote", "steady"])
def test_a_calm_stream_is_silent(method):
    assert alarms(stream(), method) == [""] * STEPS


@pytest.mark.parametrize("method", ["tracker"])
def test_a_class_that_vanishes_is_told_once(method):
    said = alarms(stream(lambda t: EVEN if t < 3 else np.array([1.0, 0.0])), method)
    assert ["class 1 has vanished" in text for text in said] == [
        t == 3 for t in range(1, STEPS + 1)
    ]


def test_an_estimate_far_below_gold():
    X, y = next(stream())
    judge = Monitor(X, y, ["a", "b"]).judge
    assert judge(X, y, np.full(SIZE, 0.87), 0.96)[1] == judge(X, y, None, 0.96)[1] == []
    assert judge(X, y, np.full(SIZE, 0.85), 0.96)[1] == [
        "estimated accuracy 0.85, on gold it was 0.96"
    ]


def test_the_band_is_that_of_earlier_errors_and_of_chance():
    sure = np.full(100, 0.8)
    found = estimated(sure)
    chance = 1.645 * 0.4 / 10  # 95 % quantile of a mean of 100 coins
    assert found["estimated_accuracy"] == pytest.approx(0.8)
    assert found["estimated_low"] == pytest.approx(0.8 - np.hypot(BELOW, chance))
    assert found["estimated_high"] == pytest.approx(0.8 + np.hypot(ABOVE, chance))
    assert estimated(np.ones(9))["estimated_high"] == 1.0
