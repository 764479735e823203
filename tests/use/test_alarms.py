"""Alarms without labels: each is raised by a stream built for it, and calm streams raise none."""

import numpy as np
import pytest

from sdsl.estimator import StreamClassifier

SIZE, STEPS = 150, 6
EVEN = np.full(2, 0.5)


def stream(centres, shares=lambda t: EVEN, d=4, spread=0.5, seed=0):
    """Segments 0..STEPS of Gaussian classes; centres(t) [C, d] and shares(t) [C] set each."""
    rng = np.random.default_rng(seed)
    for t in range(STEPS + 1):
        y = rng.choice(len(shares(t)), SIZE, p=shares(t))
        yield rng.normal(0, spread, (SIZE, d)) + centres(t)[y], y


def warnings(segments, method="st") -> list[str]:
    """What each step says."""
    gold, *rest = segments
    model = StreamClassifier(method).fit(*gold)
    for X, _ in rest:
        model.adapt(X)
    return model.history_.warnings.tolist()


LEFT_RIGHT = np.array([[-2.0, 0, 0, 0], [2.0, 0, 0, 0]])


def test_a_calm_stream_is_silent():
    assert warnings(stream(lambda t: LEFT_RIGHT), "ours") == [""] * STEPS


def test_low_trust_in_gold():
    steps = np.arange(STEPS + 1)[:, None, None] * np.array([0, 0.8, 0, 0])
    said = warnings(stream(lambda t: LEFT_RIGHT + steps[t]), "ours")
    assert "low trust in gold" not in said[0]
    assert all("low trust in gold" in text for text in said[-2:])


@pytest.mark.parametrize("at", [1, 4])
def test_class_shares_far_from_the_last_steps(at):
    shares = lambda t: EVEN if t < at else np.array([0.9, 0.1])  # noqa: E731
    said = warnings(stream(lambda t: LEFT_RIGHT, shares))
    assert ["share of" in text for text in said] == [t == at for t in range(1, STEPS + 1)]


def test_two_classes_on_top_of_each_other():
    closer = lambda t: LEFT_RIGHT * max(0.0, 1 - 0.25 * t)  # noqa: E731
    said = warnings(stream(closer), "ours")
    assert "on top of each other" not in said[0] and "on top of each other" in said[-1]
    assert "0 and 1" in said[-1] or "1 and 0" in said[-1]


@pytest.mark.parametrize("at", [1, 3])
def test_a_segment_unlike_any_seen(at):
    said = warnings(stream(lambda t: LEFT_RIGHT + (0 if t < at else 10)))
    assert ["unlike anything" in text for text in said] == [t == at for t in range(1, STEPS + 1)]


def test_some_rows_unlike_any_seen():
    segments = list(stream(lambda t: LEFT_RIGHT))
    segments[2][0][:40] += 30
    assert ["unlike anything" in text for text in warnings(segments)] == [False, True, *[False] * 4]


def test_one_row_or_ten_raise_no_alarm_about_shares_or_trust():
    (X, y), *rest = stream(lambda t: LEFT_RIGHT)
    model = StreamClassifier("st").fit(X, y)
    for t, n in enumerate((1, 10, 1, 3, 19)):
        model.adapt(rest[t][0][:n])
    assert (model.history_.warnings == "").all()


def calm_streams(seeds):
    """20 streams of 2 to 5 classes, 2 to 20 features, even and uneven, round and skewed; a third
    of them turn by 0.2 radians on their way."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        C, d, n = 2 + seed % 4, (2, 3, 5, 10, 20)[seed % 5], (60, 100, 200, 400)[seed % 4]
        shares = np.full(C, 1 / C) if seed % 3 else np.r_[0.7, np.full(C - 1, 0.3 / (C - 1))]
        y = rng.choice(C, 11 * n, p=shares)
        angle = 2 * np.pi * y / C + np.linspace(0, 0.2 * (seed % 3 == 1), len(y))
        X = rng.normal(0, 0.5, (len(y), d))
        X[:, :2] += 3 * np.c_[np.cos(angle), np.sin(angle)]
        X = np.exp(X / 2) if seed % 2 else X
        yield list(zip(np.split(X, 11), np.split(y, 11), strict=True))


FRESH = range(20, 40)  # seeds; the thresholds were set while looking at streams 0 to 19


def test_false_alarms_are_rare():
    """Segments with an alarm among the 200 of 20 calm streams (mean accuracy in brackets).

    Fresh streams, 20 to 39: `st` 1 (0.5 %), `ours` 9 (4.5 %), `scargc` 30 (15 %). 8 of those of
    `ours` are of stream 39, which it gets wrong (0.76); of `scargc`, 27 are of streams below 0.9.
    Streams 0 to 19, by which thresholds were chosen: `st` 0, `ours` 8, `scargc` 31.
    No alarm does not mean right: `scargc` raises none on stream 33 (0.65).
    """
    said = [text for segments in calm_streams(FRESH) for text in warnings(segments)]
    assert len(said) == 200
    assert sum(text != "" for text in said) <= 2, [text for text in said if text]
