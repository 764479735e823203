"""The stream: gold, disjoint and complete splits, its length, scaling, what it refuses."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import support
import torch

from sdsl.core import engine
from sdsl.core.contract import Method, Pseudo
from sdsl.core.evaluation import EvalConfig
from sdsl.core.learner import Learner
from sdsl.core.lookback import Lookback
from sdsl.core.replica import Rows
from sdsl.core.scaler import Scaler
from sdsl.core.stream import Stream, StreamConfig
from sdsl.errors import UserError
from sdsl.labelers.none import NoLabels
from sdsl.replays.none import NoReplay

SIZE, TEST, SEEDS = 30, 9, (0, 1, 2)
ALL = (SIZE - TEST,) * len(SEEDS)  # every unlabelled row of each replica
DATA = support.blobs(rows=160, classes=4, d=3)  # five segments and ten rows over


def stream(data=DATA, seeds=SEEDS, dataset=None, **config) -> Stream:
    shipped = {"gold": "segment", "scaler": "frozen", "max_segments": None, "prefix": "literal"}
    cut = replace(support.cut(SIZE, TEST), **dataset or {})
    return Stream(data, cut, StreamConfig(**shipped | config), seeds)


def numbers(X: torch.Tensor, data=DATA) -> list[int]:
    """Which rows of the table these are."""
    place = {row.tobytes(): i for i, row in enumerate(data.X)}
    return [place[row.tobytes()] for row in X.reshape(-1, data.X.shape[1]).numpy()]


def test_segments_are_split_without_loss_or_overlap():
    made = stream()
    assert made.T == 4
    X, y = made.tests()
    for s in range(len(SEEDS)):
        for t in range(1, made.T + 1):
            unlabelled, test = numbers(made.segment(t)[s]), numbers(X[s, t - 1])
            assert (len(unlabelled), len(test)) == (SIZE - TEST, TEST)
            assert sorted(unlabelled + test) == list(range(t * SIZE, (t + 1) * SIZE))
            assert np.array_equal(DATA.y[unlabelled], made.truth(t)[s])
            assert np.array_equal(DATA.y[test], y[s, t - 1])


@pytest.mark.parametrize(("gold", "rows"), [("segment", SIZE - TEST), ("record", 20), ("2", 8)])
def test_gold_comes_from_segment_0(gold, rows):
    made = stream(gold=gold).gold()
    for s in range(len(SEEDS)):
        X, y = made.replica(s)
        found = numbers(X)
        assert len(set(found)) == len(found) == rows
        assert max(found) < SIZE
        assert np.array_equal(DATA.y[found], y)
        if gold != "segment":
            assert np.bincount(y).tolist() == [rows // 4] * 4
    assert made.X.shape[1] == rows


def test_a_class_with_fewer_rows_than_asked_gives_all_it_has():
    made = stream(gold="100").gold()
    assert sorted(numbers(made.X[0])) == list(range(SIZE))


def test_a_seed_changes_the_splits_and_not_the_rows():
    made = stream()
    assert numbers(made.segment(1)[0]) != numbers(made.segment(1)[1])
    for part in ("X", "y"):
        assert np.array_equal(getattr(made.table, part), getattr(DATA, part))
    alone = stream(seeds=(2,))
    assert torch.equal(alone.unlabelled[0], made.unlabelled[2])
    assert torch.equal(alone.test[0], made.test[2])


def test_splits_do_not_depend_on_labels_or_on_the_length():
    other = support.table(DATA.X, (DATA.y + 1) % 4)
    assert torch.equal(stream().unlabelled, stream(other).unlabelled)
    assert torch.equal(stream().unlabelled[:, :2], stream(max_segments=2).unlabelled)


@pytest.mark.parametrize(
    ("config", "T"),
    [
        ({}, 4),
        ({"max_segments": 2}, 2),
        ({"max_segments": 99}, 4),
        ({"prefix": "calibrated"}, 3),
        ({"prefix": "calibrated", "max_segments": 1}, 1),
    ],
)
def test_length(config, T):
    assert stream(dataset={"calibrated_segments": 3}, **config).T == T


def test_calibrated_prefix_of_a_stream_without_one_is_the_whole():
    assert stream(dataset={"calibrated_segments": None}, prefix="calibrated").T == 4


@pytest.mark.parametrize(
    ("dataset", "config", "message"),
    [
        ({"segment_size": 81}, {}, "160 rows are fewer than two segments of 81"),
        ({"test_size": SIZE}, {}, "test_size=30 must be below dataset.segment_size=30"),
    ],
)
def test_refusals(dataset, config, message):
    with pytest.raises(UserError, match=message):
        stream(dataset=dataset, **config)


def test_a_class_without_gold_is_refused_by_name():
    y = DATA.y.copy()
    y[:SIZE][y[:SIZE] == 3] = 0
    with pytest.raises(UserError, match="no row of class 3"):
        stream(support.table(DATA.X, y))


def test_two_segments_are_enough():
    assert stream(dataset={"segment_size": 80}).T == 1


# Scaling


def test_the_scaler_standardises_a_replica_at_a_time():
    parts = torch.randn(2, 40, 3) * 5 + 2, torch.randn(2, 7, 3)
    scaler = Scaler.fit(*parts)
    for s in range(2):
        whole = torch.cat([p[s] for p in parts]).numpy().astype(np.float64)
        np.testing.assert_allclose(scaler.mean[s, 0], whole.mean(0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(scaler.scale[s, 0], whole.std(0), rtol=1e-5)


def test_a_constant_feature_keeps_its_scale():
    X = torch.full((1, 10, 2), 1e6)
    X[:, :, 1] = torch.arange(10)
    scaled = Scaler.fit(X)(X)
    assert scaled[0, :, 0].tolist() == [0] * 10
    assert scaled[0, :, 1].std(correction=0) == pytest.approx(1)


def test_undo_is_the_inverse():
    X = torch.randn(2, 5, 3) * 100
    scaler = Scaler.fit(X)
    torch.testing.assert_close(scaler.undo(scaler(X)), X)


@dataclass
class Spy(NoLabels):
    """Notes what a labeler is given, and passes on the first rows of each replica."""

    counts: tuple[int, ...]

    def start(self, gold, learner, draws):
        self.gold, self.steps = gold, []

    def label(self, step, learner):
        self.steps.append(step)
        y = learner.predict(step.X)
        return Pseudo(None, Rows(step.X, y, torch.tensor(self.counts)))


def observe(scaler: str, counts=ALL) -> tuple[Stream, Spy]:
    """A run whose lookback keeps every row that is passed on."""
    made, spy, learner = stream(scaler=scaler), Spy(counts), Learner((3, 5, 4), SEEDS)
    lookback = Lookback(SIZE, "stratified", "equal")
    method = Method(spy, NoReplay(), lookback, support.training(steps=2))
    engine.run(made, learner, method, EvalConfig(1, None, False))
    return made, spy


def test_frozen_scaler_is_that_of_gold_and_the_first_segment():
    made, spy = observe("frozen")
    scaler = Scaler.fit(made.gold().X, made.segment(1))
    assert torch.equal(spy.gold.X, scaler(made.gold().X))
    for step in spy.steps:
        assert torch.equal(step.X, scaler(made.segment(step.t)))
        assert torch.equal(step.gold.X, spy.gold.X)


def test_no_scaler_leaves_rows_as_they_are():
    made, spy = observe("none")
    for step in spy.steps:
        assert torch.equal(step.X, made.segment(step.t))
        assert torch.equal(step.gold.X, made.gold().X)


@pytest.mark.parametrize("counts", [ALL, (SIZE - TEST, 4, 0)])
def test_a_scaler_per_step_is_refitted_on_the_segment_and_what_is_stored(counts):
    """At t=1 gold stands for the lookback; a ragged one's padding has no say."""
    made, spy = observe("per_step", counts)
    close = {"rtol": 1e-4, "atol": 1e-4}  # the lookback goes back to raw units and forth again
    for step in spy.steps:
        before = made.segment(step.t - 1) if step.t > 1 else made.gold().X
        stored = [X[:n] for X, n in zip(before, counts, strict=True)] if step.t > 1 else before
        scaler = Scaler.fit(made.segment(step.t), stored)
        torch.testing.assert_close(step.X, scaler(made.segment(step.t)), **close)
        torch.testing.assert_close(step.gold.X, scaler(made.gold().X), **close)
        if step.t > 1:
            kept = scaler(before)
            for s, n in enumerate(counts):
                torch.testing.assert_close(step.lookback.replica(s)[0], kept[s, :n], **close)
