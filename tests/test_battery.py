"""One battery over every method, labeler and replay in conf/: what each must and must not do."""

import random
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest
import support
import torch
from support import bits, left_behind, taken

from sdsl import experiment
from sdsl.config import setup
from sdsl.core.adaptation import Adaptation
from sdsl.core.contract import Labeler
from sdsl.core.rows import Rows
from sdsl.core.state import load_state, save_state
from sdsl.core.stream import Stream
from sdsl.errors import UserError
from sdsl.labelers import static_bound

SIZES = {"segment_size": 30, "test_size": 10}
UNLABELLED = SIZES["segment_size"] - SIZES["test_size"]
T, DATA = 4, support.blobs(rows=150, classes=3, drift=1.0, spread=1.0)  # gold and four segments

every_method = pytest.mark.parametrize("method", support.METHODS)


@pytest.fixture(autouse=True)
def few_boosts(monkeypatch):
    """The static bound has no setting for it."""
    monkeypatch.setattr(static_bound, "BOOSTS", 2)


@cache
def labeler_of(method: str) -> Labeler:
    return setup(support.composed(f"method={method}")).method.labeler


def config_of(method: str, settings: dict[str, Any] | None = None, **sizes: int) -> dict[str, Any]:
    """The config of a method cut short, on a made-up table."""
    config = support.brief(support.composed(f"method={method}", **SIZES | sizes))
    return support.changed(config, settings or {})


def run(method: str, settings=None, data=DATA, **sizes: int) -> experiment.Trial:
    return support.run_config(config_of(method, settings, **sizes), data, seed=2)


def check_sound(outcome, T=T) -> None:
    """R is whole and a matrix of accuracies; parameters and what is measured are finite."""
    assert outcome.R.shape == (T + 1, T)
    assert ((outcome.R >= 0) & (outcome.R <= 1)).all()
    assert all(p.isfinite().all() for p in outcome.learner.theta)
    for name in ("test_acc", "test_acc_relabelled", "model_numbers", "memory_numbers"):
        assert np.isfinite(outcome.curves[name]).all(), name


# Awkward streams


def one_class() -> support.Table:
    """The second segment holds rows of class 0 alone."""
    X, y, size = DATA.X.copy(), DATA.y.copy(), SIZES["segment_size"]
    X[2 * size : 3 * size], y[2 * size : 3 * size] = X[y == 0][:size], 0
    return support.table(X, y)


HUGE = DATA.X.copy()
HUGE[45, 1] = 1e30  # in segment 1
MANY, FEW = support.blobs(rows=120, classes=12, d=3), support.blobs(rows=20, classes=2)
UNEQUAL, ONE = replace(DATA, ends=(30, 60, 62, 70, 150)), {"settings": {"stream.gold": 1}}
AWKWARD: dict[str, dict[str, Any]] = {
    "nothing awkward": {},
    "a segment of one class": {"data": one_class()},
    "a constant feature": {"data": support.table(np.c_[DATA.X, np.full(len(DATA.X), 7)], DATA.y)},
    "values of a million": {"data": support.table(1e6 * (DATA.X + 1), DATA.y)},
    "one huge value": {"data": support.table(HUGE, DATA.y)},
    "more classes than unlabelled rows": {"data": MANY, **ONE, "segment_size": 24, "test_size": 14},
    "segments of four rows": {"data": FEW, **ONE, "segment_size": 4, "test_size": 1},
    "segments of unequal length": {"data": UNEQUAL, "segment_size": None, "test_size": None},
    "no lookback": {"settings": {"lookback.size": 0}},
}


@every_method
@pytest.mark.parametrize("kind", AWKWARD)
def test_awkward_streams(method, kind):
    check_sound(run(method, **AWKWARD[kind]).outcome)


# Where a labeler selects nothing, or next to it. RECORD's gold would fill its buffer.
STRICTEST = {"Influence": {"labeler.cut": 1.0, "labeler.keep_gold": True}}
STRICTEST |= {"Gst": {"labeler.drop": 1.0}, "Confidence": {"labeler.size": 1}}


@every_method
def test_a_selection_of_nothing_or_one_row(method):
    if settings := STRICTEST.get(type(labeler_of(method)).__name__):
        check_sound(run(method, settings).outcome)


# The same bits, whatever cannot matter


def poisoned(stream: Stream) -> support.Table:
    """The same table with a wrong label on every unlabelled row; gold and test labels stay."""
    y, hidden = DATA.y.copy(), torch.cat(stream.unlabelled).numpy()
    y[hidden] = (y[hidden] + 1) % 3
    return support.table(DATA.X, y)


def differing(a: dict, b: dict) -> list[str]:
    """What differs of two outcomes; hidden labels may change how pseudo-labels are scored."""
    names = {k for k in a.keys() | b.keys() if a.get(k) != b.get(k)}
    scored = "curve pseudo", "reliability"
    return sorted(name for name in names if name.split("_")[0] not in scored)


def test_who_may_read_labels():
    privileged = [m for m in support.METHODS if labeler_of(m).privileged]
    assert privileged == ["jt", "oracle_labels", "static_bound"]


@every_method
def test_hidden_labels_and_global_random_numbers_change_no_bit(method):
    """Nor does a method change its input or the global random state."""
    X, y = DATA.X.copy(), DATA.y.copy()
    clean = run(method)
    states = torch.get_rng_state(), np.random.get_state()[1], random.getstate()
    other = run(method, data=poisoned(clean.stream))
    after = torch.get_rng_state(), np.random.get_state()[1], random.getstate()
    assert bits(list(states)) == bits(list(after))
    torch.rand(1), np.random.rand(1), random.random()
    assert differing(left_behind(clean.outcome), left_behind(run(method).outcome)) == []
    assert np.array_equal(DATA.X, X) and np.array_equal(DATA.y, y)
    changed = differing(left_behind(clean.outcome), left_behind(other.outcome))
    if labeler_of(method).privileged:
        assert {"R", "theta"} & {*changed}  # so this test can fail
    else:
        assert changed == []


# The state between steps


def fresh(method: str, settings=None, data=DATA, **sizes: int) -> tuple[Stream, Adaptation]:
    """(stream, adaptation before its first fit)"""
    made = setup(config_of(method, settings, **sizes))
    stream = experiment.cut(made, data, 2)
    learner = experiment.learner(made, stream)
    return stream, Adaptation(made.method, learner, stream.gold(), made.stream.scaler, 2)


def begun(*made, **more) -> tuple[Stream, Adaptation]:
    """(stream, adaptation after the fit on gold)"""
    stream, going = fresh(*made, **more)
    steps = range(1, stream.T + 1)
    going.begin(stream.segment(1), ((stream.segment(t), stream.truth(t)) for t in steps))
    return stream, going


@pytest.mark.parametrize("method", [m for m in support.METHODS if m != "static_bound"])
def test_a_saved_state_goes_on_bit_for_bit(method, tmp_path):
    """It is plain data; only that of the static bound, scikit-learn's trees, is not."""
    stream, going = begun(method)
    taken(going, stream, range(1, 3))
    save_state(tmp_path / "a", going.state())
    again = fresh(method)[1]
    again.restore(load_state(tmp_path / "a"))
    assert taken(going, stream, range(3, T + 1)) == taken(again, stream, range(3, T + 1))


def blocks(data: Any) -> list[np.ndarray]:
    """Every block of numbers in plain data."""
    if isinstance(data, dict):
        return blocks(list(data.values()))
    if isinstance(data, list | tuple):
        return [block for item in data for block in blocks(item)]
    if isinstance(data, torch.Tensor | np.ndarray | float | int):
        return [np.asarray(data).ravel()]
    return []


def rows_held(numbers: list[np.ndarray], X: torch.Tensor) -> int:
    """How many rows of X are among the numbers; one alone may be a weight by chance."""
    given = X.numpy()
    known = np.concatenate([block.astype(given.dtype) for block in numbers])
    return int(np.isin(given, known).all(1).sum())


KEPT = 6  # lookback.size


@cache
def watch(method: str) -> list[dict[str, Any]]:
    """After every step: rows held of each segment so far and of the tests; numbers not reported.

    A restored state gives the same bits (above), so all that a method holds is in its state.
    """
    # Without scaling a held row is the table's row, number by number.
    settings = {"stream.scaler": "none", "lookback.size": KEPT}
    if hasattr(labeler_of(method), "size"):
        settings["labeler.size"] = KEPT
    stream, going = begun(method, settings, support.blobs(rows=210, classes=3, drift=1.0))
    assert len(np.unique(stream.table.X)) == stream.table.X.size
    steps = []
    for t in range(1, stream.T + 1):
        _, log = going.step(stream.segment(t), stream.truth(t))
        numbers = blocks(going.state())
        held = [rows_held(numbers, stream.segment(j)) for j in range(1, t + 1)]
        now = {"segments": held, "tests": rows_held(numbers, Rows.cat(*stream.tests()).X)}
        now["besides"] = sum(block.size for block in numbers) - log["memory_numbers"]
        steps.append(now | {"lookback": len(going.lookback)})
    return steps


@every_method
def test_nothing_but_a_short_lookback_survives_a_step(method):
    if labeler_of(method).privileged:
        return
    steps = watch(method)
    for step in steps:
        *older, newest = step["segments"]
        assert step["tests"] == 0 and step["lookback"] <= KEPT
        if method == "scargc":  # 1-NN: its model is the segment it was given last, and no more
            assert (sum(older), newest) == (0, UNLABELLED)
        elif labeler_of(method).long_memory:  # RECORD's buffer, by its own definition
            assert sum(older) + newest <= KEPT
        else:
            assert sum(older) == 0 and newest <= KEPT
    assert len({step["besides"] for step in steps[1:]}) == 1, "what is not reported grows with t"


def test_rows_that_are_held_are_found():
    """The watch sees what joint training keeps, so the test above can fail."""
    assert watch("jt")[-1]["segments"] == [UNLABELLED] * 6


# A component's numbers that change from step to step are model or memory. CoTTA's student, teacher
# and moments are as many networks; joint training keeps all rows; mixtures and a network are two.
EXEMPT = ("cotta", "jt", "static_bound", "ours_tracker", "ours_steady")


@every_method
def test_what_is_kept_is_reported_and_within_the_budget(method):
    """Lookback and summary: 100 rows with labels. The model: the default network at most."""
    if method in EXEMPT:
        return
    data = support.blobs(rows=800, classes=3, drift=1.0)
    stream, going = begun(method, data=data, segment_size=200, test_size=50)
    before: list[np.ndarray] = []
    for t in range(1, stream.T + 1):
        _, log = going.step(stream.segment(t), stream.truth(t))
        state = going.state()
        now = blocks([state["labeler"], state["replay"]])
        assert log["memory_numbers"] <= 100 * (stream.d + 1)
        assert log["model_numbers"] <= (stream.d + 1) * 100 + 101 * 100 + 101 * stream.C
        if t > 1:
            pairs = zip_longest(before, now, fillvalue=np.zeros(0))  # snapshots may have come
            differ = sum(a.size if a.shape != b.shape else (a != b).sum() for a, b in pairs)
            network = sum(p.numel() for p in going.learner.theta)
            rows = len(going.lookback) * (stream.d + 1)
            own = log["memory_numbers"] + log["model_numbers"] - rows
            own -= network if going.learner.classifier is None else 0
            assert differ <= own + stream.C  # the last shares of the classes
        before = now


@pytest.mark.parametrize("labeler", support.options("labeler"))
def test_any_labeler_goes_with_any_replay(labeler):
    generation = support.composed(f"labeler={labeler}")["labeler"]
    for replay in support.options("replay"):
        config = support.composed(f"replay={replay}", **SIZES) | {"labeler": generation}
        config = support.changed(support.brief(config), {"stream.scaler": "frozen"})
        try:
            check_sound(support.run_config(config, DATA, seed=2).outcome)
        except UserError as error:
            assert "Set " in str(error) or "Choose " in str(error), (replay, error)
