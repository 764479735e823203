"""One battery over every method found in conf/method: what each must do, and what none may do."""

import gc
import random
from dataclasses import replace
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

import numpy as np
import pytest
import support
import torch

from sdsl import experiment
from sdsl.config.registry import find
from sdsl.core import engine
from sdsl.core.contract import Labeler
from sdsl.core.learner import Learner
from sdsl.core.lookback import Lookback
from sdsl.core.network import layer_sizes
from sdsl.core.stream import Stream
from sdsl.errors import UserError
from sdsl.labelers import static_bound

every_method = pytest.mark.parametrize("method", support.METHODS)

SIZES = {"segment_size": 30, "test_size": 10}
UNLABELLED = SIZES["segment_size"] - SIZES["test_size"]
DATA = support.blobs(rows=120, classes=3, drift=1.0, spread=1.0)  # gold and three segments


@pytest.fixture(autouse=True)
def few_boosts(monkeypatch):
    """The static bound has no setting for it."""
    monkeypatch.setattr(static_bound, "BOOSTS", 2)


def name_of(method: str) -> str:
    return support.config(f"method={method}")["labeler"]["name"]


def labeler_of(method: str) -> type[Labeler]:
    return find("labeler", name_of(method), Labeler)


PRIVILEGED = [m for m in support.METHODS if labeler_of(m).privileged]
BLIND = [m for m in support.METHODS if not labeler_of(m).privileged]


def settings_of(method: str, settings: dict | None = None, sizes: dict = SIZES) -> dict:
    """The config of a method cut short, on a made-up table."""
    cfg = support.brief(support.config(f"method={method}")) | {"dataset": support.small(**sizes)}
    return support.changed(cfg, settings or {})


def run(method: str, settings: dict | None = None, data=DATA, seeds=(0, 1), sizes=SIZES):
    """(stream, outcome) of a method cut short."""
    trial = support.trial(settings_of(method, settings, sizes), seeds, data)
    return trial.stream, trial.outcome


def check_sound(outcome, T=3, S=2) -> None:
    """R is whole and a matrix of accuracies; parameters and everything reported are finite."""
    assert outcome.R.shape == (S, T + 1, T)
    assert ((outcome.R >= 0) & (outcome.R <= 1)).all()
    assert all(p.isfinite().all() for p in outcome.learner.theta)
    for name, curve in outcome.curves.items():
        assert np.isfinite(curve).all(), name


@every_method
def test_a_stream_of_three_segments(method):
    _, outcome = run(method)
    check_sound(outcome)
    assert {"test_acc", "test_acc_relabelled"} <= set(outcome.curves)


@every_method
def test_a_segment_of_one_class(method):
    size = SIZES["segment_size"]
    X, y = DATA.X.copy(), DATA.y.copy()
    zeros = X[y == 0]
    X[2 * size : 3 * size], y[2 * size : 3 * size] = zeros[:size], 0
    _, outcome = run(method, data=support.table(X, y))
    check_sound(outcome)


def small_selection(method: str, size: int) -> dict:
    """A labeler that selects rows keeps to a size of its own, here `size`."""
    picky = "size" in support.config(f"method={method}")["labeler"]
    return {"labeler.size": size} if picky else {}


@every_method
def test_no_lookback(method):
    _, outcome = run(method, {"lookback.size": 0} | small_selection(method, 4))
    check_sound(outcome)


# Where a labeler selects nothing, or next to it. RECORD's gold would fill its buffer.
STRICTEST = {
    "influence": {"labeler.cut": 1.0, "labeler.keep_gold": True},
    "gst": {"labeler.drop": 1.0},
    "confidence": {"labeler.size": 1},
}


@pytest.mark.parametrize("method", [m for m in support.METHODS if name_of(m) in STRICTEST])
def test_a_selection_of_nothing_or_one_row(method):
    _, outcome = run(method, STRICTEST[name_of(method)])
    check_sound(outcome)


@every_method
def test_more_classes_than_unlabelled_rows(method):
    classes = 12
    data = support.blobs(rows=96, classes=classes, d=3)
    _, outcome = run(
        method, {"stream.gold": "1"}, data=data, sizes={"segment_size": 24, "test_size": 14}
    )
    check_sound(outcome)


@every_method
@pytest.mark.parametrize("kind", ["constant feature", "scale of a million"])
def test_finite_under_awkward_features(method, kind):
    X = DATA.X.copy()
    X = np.c_[X, np.full(len(X), 7.0)] if kind == "constant feature" else 1e6 * (X + 1)
    _, outcome = run(method, data=support.table(X, DATA.y))
    check_sound(outcome)


@every_method
def test_global_random_state_is_left_alone(method):
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()
    run(method)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert all(np.array_equal(a, b) for a, b in zip(np.random.get_state(), before[1], strict=True))
    assert random.getstate() == before[2]


# Fusing seeds changes no bit

SHAPES = {  # (d, C, hidden) and the sizes of a segment
    "as the paper's streams": (2, 2, None, {"segment_size": 250, "test_size": 75}),
    "one narrow layer": (5, 3, [7], SIZES),
    "many classes": (17, 10, [33, 16], {"segment_size": 60, "test_size": 20}),
}


def left_behind(outcome, s: int) -> dict[str, np.ndarray]:
    """All that a run leaves of replica s."""
    learner = outcome.learner
    layers = {f"theta_{i}": p[s].detach().numpy() for i, p in enumerate(learner.theta)}
    teacher = {f"teacher_{i}": p[s].numpy() for i, p in enumerate(learner.teacher)}
    curves = {f"curve_{name}": curve[s] for name, curve in outcome.curves.items()}
    return {"R": outcome.R[s]} | layers | teacher | curves


def differing(a: dict, b: dict) -> list[str]:
    same = {k for k in a.keys() & b.keys() if np.array_equal(a[k], b[k], equal_nan=True)}
    return sorted((a.keys() | b.keys()) - same)


def check_same_bits(method: str, settings: dict, data, sizes: dict = SIZES) -> None:
    bits = {}
    for seeds in ((1,), (1,), (3,), (3, 1), (8, 1, 5, 3, 0)):
        outcome = run(method, settings, data, seeds, sizes)[1]
        for s, seed in enumerate(seeds):
            known = bits.setdefault(seed, left_behind(outcome, s))
            assert differing(known, left_behind(outcome, s)) == [], f"seed {seed} of {seeds}"


@every_method
@pytest.mark.parametrize("shape", SHAPES)
def test_same_bits_again_alone_and_fused(method, shape):
    d, classes, hidden, sizes = SHAPES[shape]
    rows = 4 * sizes["segment_size"]
    data = support.blobs(rows=rows, classes=classes, d=d, drift=2.0, spread=1.2)
    check_same_bits(method, {"learner.hidden": hidden} if hidden else {}, data, sizes)


@every_method
def test_same_bits_where_replicas_select_different_numbers_of_rows(method):
    """Unscaled, a softmax saturates here and there: ties, and other counts in every replica."""
    check_same_bits(method, {"stream.scaler": "none"}, support.table(20 * DATA.X, DATA.y))


# Labels are never read


def poisoned(stream: Stream, data):
    """The same table with a wrong label on every unlabelled row; gold and test labels stay."""
    y = data.y.copy()
    hidden = stream.unlabelled[0].flatten().numpy()
    y[hidden] = (y[hidden] + 1) % len(data.classes)
    return support.table(data.X, y)


def test_who_may_read_labels():
    assert PRIVILEGED == ["jt", "oracle_labels", "static_bound"]


@pytest.mark.parametrize("method", BLIND)
def test_hidden_labels_change_no_bit(method):
    stream, clean = run(method, seeds=(2,))
    other = run(method, seeds=(2,), data=poisoned(stream, DATA))[1]
    changed = differing(left_behind(clean, 0), left_behind(other, 0))
    assert [name for name in changed if not name.startswith("curve_pseudo_label")] == []


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("jt", {"replay.fit.steps": 40}),
        ("oracle_labels", {"replay.steps": 40, "replay.eta2": 0.1}),
        ("static_bound", {}),
    ],
)
def test_hidden_labels_show_where_they_are_read(method, settings):
    """So the test above can fail."""
    stream, clean = run(method, settings, seeds=(2,))
    _, other = run(method, settings, seeds=(2,), data=poisoned(stream, DATA))
    assert not np.array_equal(clean.R, other.R)


# The short lookback

KEPT = 6  # lookback.size


class Watched(Lookback):
    """A lookback that remembers what it let through last."""

    def keep(self, rows, learner, draws):
        self.last = super().keep(rows, learner, draws)
        return self.last


SKIPPED = (type, ModuleType, BuiltinFunctionType, CodeType, str, bytes, int, float, type(None))


def held_numbers(*roots) -> list[np.ndarray]:
    """Every block of numbers reachable from the roots: whole storages, whatever part is in view."""
    todo, seen, blocks = list(roots), set(), {}
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, SKIPPED):
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor):
            assert thing.grad_fn is None, "an autograd graph is held, and rows with it"
            storage = thing.untyped_storage()
            whole = torch.empty(0, dtype=thing.dtype).set_(storage)
            blocks[storage.data_ptr()] = whole.numpy()
        elif isinstance(thing, np.ndarray):
            while isinstance(thing.base, np.ndarray):
                thing = thing.base
            blocks[thing.ctypes.data] = thing.ravel()
        if isinstance(thing, FunctionType):  # not the whole module it was defined in
            todo += [thing.__closure__, thing.__defaults__, thing.__kwdefaults__, thing.__dict__]
        else:
            todo += gc.get_referents(thing)
    return list(blocks.values())


def rows_held(blocks: list[np.ndarray], X: np.ndarray) -> int:
    """How many rows of X are among the numbers, one feature in any block being enough."""
    numbers = np.concatenate([X[:0, 0], *(block.astype(X.dtype).ravel() for block in blocks)])
    return int(np.isin(X, numbers).any(1).sum())


@cache
def watch(name: str, seed=2) -> list[dict]:
    """After every step: rows held of each segment, by the classifier, of the tests; bytes held."""
    # Without scaling a held row is the table's row, number by number.
    settings = {"lookback.size": KEPT, "stream.scaler": "none"}
    cfg = settings_of(name, settings | small_selection(name, KEPT))
    setup = experiment.setup(cfg)
    data = support.blobs(rows=180, classes=3, drift=1.0, spread=1.0)  # gold and five segments
    assert len(np.unique(data.X)) == data.X.size
    stream = experiment.cut(setup, data, [seed])
    learner = Learner(layer_sizes(stream.d, setup.hidden, stream.C), [seed])
    given = setup.method.lookback
    lookback = Watched(given.size, given.select, given.shares)
    method = replace(setup.method, lookback=lookback)
    steps = []

    def look(t, online):
        blocks = held_numbers(method, learner)
        classifier = held_numbers(learner.classifier)
        steps.append(
            {
                "segments": [
                    rows_held(blocks, stream.segment(j)[0].numpy()) for j in range(1, t + 1)
                ],
                "classifier": rows_held(classifier, stream.segment(t)[0].numpy()),
                "tests": rows_held(blocks, stream.tests()[0][0].flatten(0, 1).numpy()),
                "bytes": sum(block.nbytes for block in blocks),
            }
        )

    engine.run(stream, learner, method, setup.evaluation, look)
    return steps


@pytest.mark.parametrize("method", BLIND)
def test_nothing_but_a_short_lookback_survives_a_step(method):
    steps = watch(method)
    long_memory = labeler_of(method).long_memory
    for step in steps:
        *older, newest = step["segments"]
        assert step["tests"] == 0
        if step["classifier"]:  # 1-NN: its model is the segment it was given last, and no more
            assert (sum(older), newest) == (0, UNLABELLED)
        elif long_memory:  # RECORD's buffer, by its own definition
            assert sum(older) + newest <= KEPT
        else:
            assert sum(older) == 0
            assert newest <= KEPT
    # Once the tracker no longer relies on the network, it holds its mixture in its place.
    changes = 1 if method == "tracker" else 0
    assert len({step["bytes"] for step in steps[1:]}) <= 1 + changes, "memory grows with t"


def test_only_the_nearest_neighbour_holds_rows_as_its_model():
    assert [m for m in BLIND if watch(m)[-1]["classifier"]] == ["scargc"]


def test_rows_that_are_held_are_found():
    """The watch sees what joint training keeps, so the test above can fail."""
    assert watch("jt")[-1]["segments"] == [UNLABELLED] * 5


def test_classes_without_gold_rows_are_refused():
    data = support.blobs(rows=120, classes=40)
    with pytest.raises(UserError, match="a class without a gold label"):
        run("ours", data=data)
