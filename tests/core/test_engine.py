"""The engine: R as it is defined, thinned on request, row 0, and what a run logs."""

from dataclasses import dataclass

import numpy as np
import pytest
import support
import torch

from sdsl.core import engine, evaluation
from sdsl.core.adaptation import first_scaler
from sdsl.core.contract import Labeler, Method, Pseudo, Replay
from sdsl.core.evaluation import EvalConfig
from sdsl.core.learner import Learner
from sdsl.core.lookback import Lookback
from sdsl.core.replica import Rows
from sdsl.core.stream import Stream, StreamConfig
from sdsl.labelers.none import NoLabels
from sdsl.replays.none import NoReplay

SEEDS, T, TEST = (0, 1), 6, 11
DATA = support.blobs(rows=30 * (T + 1), classes=3, drift=2.0, spread=1.0)


@dataclass
class Wander(Replay):
    """Moves the parameters at every step, and keeps what they were."""

    every: int = 1

    def start(self, gold, learner, draws):
        self.history = [learner.copy()]

    @torch.no_grad()
    def replay(self, step, pseudo, learner):
        if step.t % self.every == 0:
            for p in learner.theta:
                p += 0.3 * step.draws.normal(*p.shape[1:])
        self.history.append(learner.copy())
        return {"moved": torch.tensor([1.0, 2.0])}


def run(labeler=None, replay=None, lookback=None, on_step=lambda t, a: None, **evaluation):
    how = StreamConfig("segment", "frozen", None, "literal")
    stream = Stream(DATA, support.cut(30, TEST), how, SEEDS)
    method = Method(
        labeler or NoLabels(),
        replay or NoReplay(),
        lookback or Lookback(5, "stratified", "equal"),
        support.training(steps=20),
    )
    cells = EvalConfig(**{"every": 1, "columns": None, "context": False} | evaluation)
    return stream, engine.run(stream, Learner((2, 6, 3), SEEDS), method, cells, on_step)


@pytest.fixture(scope="module")
def whole():
    """(stream, outcome, R by a slow loop) of a model that moves at every step."""
    wander = Wander()
    stream, outcome = run(replay=wander)
    X, y = stream.tests()
    X = first_scaler(stream.gold(), stream.segment(1))(X.flatten(1, 2)).view_as(X)
    slow = np.full((len(SEEDS), T + 1, T), np.nan)
    for s in range(len(SEEDS)):
        for i, theta in enumerate(wander.history):
            for j in range(T):
                h = X[s, j]
                for layer in theta[:-1]:
                    h = (h @ layer[s, :-1] + layer[s, -1]).relu()
                said = (h @ theta[-1][s, :-1] + theta[-1][s, -1]).argmax(1)
                slow[s, i, j] = np.mean(said.numpy() == y[s, j].numpy())
    return stream, outcome, slow


def test_R_is_the_accuracy_of_model_i_on_segment_j(whole):
    _, outcome, slow = whole
    assert np.array_equal(outcome.R, slow)
    assert len(np.unique(outcome.R[0], axis=0)) == T + 1, "the model moved at every step"


def test_row_0_is_the_model_that_saw_gold_only(whole):
    assert np.array_equal(run()[1].R[:, 0], whole[1].R[:, 0])


@pytest.mark.parametrize(("every", "columns"), [(2, None), (4, 3), (1, 2), (99, 1)])
def test_thinning_leaves_cells_out_and_changes_none(every, columns, whole):
    thin = run(replay=Wander(), every=every, columns=columns)[1].R
    full = whole[1].R
    filled = np.isfinite(thin)
    assert np.array_equal(thin[filled], full[filled])
    wide = np.unique(np.linspace(0, T - 1, min(columns or T, T)).round().astype(int))
    for i in range(T + 1):
        expected = {j for j in (i - 1, i) if 0 <= j < T}
        if i % every == 0 or i == T:
            expected |= set(wide.tolist())
        assert set(np.flatnonzero(filled[0, i])) == expected
    assert np.isfinite(thin[:, range(1, T + 1), range(T)]).all(), "the diagonal always is"


@pytest.mark.parametrize("thinning", [{}, {"every": 3}, {"every": 2, "columns": 2}])
def test_a_model_that_stands_still_at_times(thinning):
    """A row is taken over from the last one only where the model is the same."""
    lazy = run(replay=Wander(every=2), **thinning)[1].R
    eager = run(replay=Wander(every=2))[1].R
    filled = np.isfinite(lazy)
    assert np.array_equal(lazy[filled], eager[filled])
    assert np.array_equal(eager[:, 2], eager[:, 3])
    assert not np.array_equal(eager[:, 1], eager[:, 2])


def test_a_new_classifier_is_tested_anew():
    @dataclass
    class Constant(Replay):
        def replay(self, step, pseudo, learner):
            learner.classifier = lambda x, t=step.t: torch.full(x.shape[:2], t % 3)

    stream, outcome = run(replay=Constant())
    y = stream.tests()[1].numpy()
    for t in range(1, T + 1):
        assert np.array_equal(outcome.R[:, t], (y == t % 3).mean(2))


def test_test_rows_go_through_in_chunks(monkeypatch, whole):
    monkeypatch.setattr(evaluation, "CHUNK", 7)
    assert np.array_equal(run(replay=Wander())[1].R, whole[1].R)


@dataclass
class Note(Labeler):
    """Labels nothing right, and keeps what it was shown."""

    def start(self, gold, learner, draws):
        self.steps = []

    def label(self, step, learner):
        self.steps.append(step)
        y = torch.full(step.X.shape[:2], step.t % 3)
        return Pseudo(y, Rows.full(step.X, y), {"mine": torch.tensor([3.0, 4.0])})


def test_a_step_shows_gold_the_last_rows_and_the_segment():
    labeler = Note()
    stream, outcome = run(labeler, Wander(), Lookback(5, "random", "equal"))
    scaler = first_scaler(stream.gold(), stream.segment(1))
    for t, step in enumerate(labeler.steps, 1):
        assert step.t == t
        assert step.truth is None
        assert torch.equal(step.X, scaler(stream.segment(t)))
        assert torch.equal(step.gold.y, stream.gold().y)
        assert step.lookback.count.tolist() == ([0, 0] if t == 1 else [5, 5])
        if t > 1:
            before = labeler.steps[t - 2].X
            for s in range(len(SEEDS)):
                assert torch.cdist(step.lookback.X[s], before[s]).amin(1).max() == 0
            assert step.lookback.y.unique().tolist() == [(t - 1) % 3]
    assert set(outcome.seconds) == {"train", "label", "eval"}


def test_what_is_logged():
    labeler, replay = Note(), Wander()
    stream, outcome = run(labeler, replay)
    curves = outcome.curves
    assert curves["mine"].tolist() == [[3.0] * T, [4.0] * T]
    assert curves["moved"].tolist() == [[1.0] * T, [2.0] * T]
    for t in range(1, T + 1):
        truth = stream.truth(t).numpy()
        share = (truth == t % 3).mean(1)
        np.testing.assert_allclose(curves["pseudo_label_acc"][:, t - 1], share)
        most = [np.bincount(row).max() / len(row) for row in truth]
        np.testing.assert_allclose(curves["pseudo_label_acc_relabelled"][:, t - 1], most)
    np.testing.assert_allclose(curves["test_acc"], outcome.R[:, range(1, T + 1), range(T)])


def test_a_labeler_that_does_not_label_is_not_scored():
    assert "pseudo_label_acc" not in run()[1].curves


def test_on_step_tells_the_running_mean():
    told = []
    outcome = run(replay=Wander(), on_step=lambda t, a: told.append((t, a)))[1]
    online = outcome.R[:, range(1, T + 1), range(T)]
    assert [t for t, _ in told] == list(range(1, T + 1))
    np.testing.assert_allclose([a for _, a in told], np.cumsum(online.mean(0)) / range(1, T + 1))


def test_only_a_privileged_labeler_is_shown_the_truth():
    @dataclass
    class Privileged(Note):
        privileged = True

        def foresee(self, segments):
            self.told = [y for _, y in segments]

    labeler = Privileged()
    stream, _ = run(labeler)
    for t, step in enumerate(labeler.steps, 1):
        assert torch.equal(step.truth, stream.truth(t))
        assert torch.equal(labeler.told[t - 1], stream.truth(t))
