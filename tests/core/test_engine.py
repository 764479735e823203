"""The engine: R as it is defined, thinned on request, row 0, and what a run logs."""

import made_up
import numpy as np
import pytest
import support
import torch
from made_up import Act, Predict, T, Wander, run

from sdsl.core import engine
from sdsl.core.contract import Pseudo
from sdsl.core.metrics import balanced_accuracy, confusion
from sdsl.core.rows import Rows
from sdsl.core.scaler import Scaler


class Recorded(Wander):
    """Keeps the parameters that each step was given."""

    def replay(self, step, pseudo, learner):
        self.history = ([] if step.t == 1 else self.history) + [support.plain(step.theta)]
        return super().replay(step, pseudo, learner)


@pytest.mark.parametrize("moves", [1, 2, 99], ids=lambda n: f"moves every {n} steps")
@pytest.mark.parametrize("every", [1, 2, 4, 99], ids=lambda n: f"full every {n} steps")
def test_R_is_the_accuracy_of_model_i_on_segment_j(every, moves, monkeypatch):
    """Against a loop over models and test parts; rows left out change no other cell."""
    monkeypatch.setattr(engine, "CHUNK", 7)
    of, wander = made_up.stream(), Recorded(moves)
    outcome = run(replay=wander, every=every, of=of)
    tests, scaler = of.tests(), Scaler.fit(of.gold().X, of.segment(1))
    slow, counts = np.full((T + 1, T), np.nan), np.zeros((T + 1, T, 3, 3), int)
    for i, theta in enumerate([*wander.history, support.plain(outcome.learner.theta)]):
        for j in range(T):
            y = tests[j].y.numpy()
            predicted = support.mlp(scaler(tests[j].X).numpy(), theta)[1].argmax(1)
            np.add.at(counts[i, j], (y, predicted), 1)
            if i % every == 0 or i == T or j in (i - 1, i):
                slow[i, j] = np.mean(predicted == y)
    assert len(np.unique(counts, axis=0)) == 1 + T // moves
    np.testing.assert_array_equal(outcome.R, slow)
    assert np.array_equal(outcome.confusion, counts[range(1, T + 1), range(T)])
    assert np.array_equal(outcome.final_confusion, counts[T])


def test_long_streams_are_thinned_unless_told_otherwise():
    assert np.isfinite(run(every="auto").R).all()
    assert [engine.EvalConfig("auto").step(T) for T in (1000, 1001, 10_000)] == [1, 11, 100]


def test_a_classifier_of_its_own_is_tested_anew_and_counted():
    def constant(step, learner):
        learner.classifier = lambda x, t=step.t: torch.full((len(x),), t % 3)
        learner.theta[0][:] = torch.nan  # the network is not used
        return {"model_numbers": 7.0, "memory_numbers": 2.0}

    of = made_up.stream()
    outcome, tests = run(replay=Act(constant), of=of), of.tests()
    for t in range(1, T + 1):
        right = [np.mean(rows.y.numpy() == t % 3) for rows in tests]
        assert np.array_equal(outcome.R[t], right)
    assert set(outcome.curves["model_numbers"]) == {7}
    assert set(outcome.curves["memory_numbers"]) == {5 * (4 + 1) + 2}


class Privileged(Predict):
    privileged = True

    def foresee(self, segments):
        self.told = list(segments)


@pytest.mark.parametrize("kind", [Predict, Privileged])
def test_a_step_shows_gold_the_last_rows_and_the_segment(kind):
    of, spy = made_up.stream(), kind()
    outcome = run(spy, of=of)
    scaler = Scaler.fit(of.gold().X, of.segment(1))
    for t, step in enumerate(spy.steps, 1):
        assert step.t == t
        assert torch.equal(step.X, scaler(of.segment(t)))
        assert torch.equal(step.gold.y, of.gold().y)
        assert len(step.lookback) == (0 if t == 1 else 5)
        if t > 1:
            assert torch.cdist(step.lookback.X, spy.steps[t - 2].X).amin(1).max() == 0
        assert not torch.equal(step.theta[0], outcome.learner.theta[0])  # a copy
        if spy.privileged:
            assert torch.equal(step.truth, of.truth(t))
            assert all(map(torch.equal, spy.told[t - 1], (step.X, of.truth(t))))
        else:
            assert step.truth is None
    assert set(outcome.seconds) == {"train", "label", "eval"}


def test_what_is_logged():
    def turns(step, learner):
        """Labels all rows of a step alike, and reports a number at odd steps."""
        y = torch.full((len(step.X),), step.t % 3)
        return Pseudo(y, Rows(step.X, y), {"mine": 3.0} if step.t % 2 else {})

    of, told = made_up.stream(), []
    outcome = run(Predict(turns), of=of, on_step=lambda t, online: told.append((t, online)))
    curves, online = outcome.curves, outcome.R[range(1, T + 1), range(T)]
    np.testing.assert_equal(curves["mine"], [3.0, np.nan] * (T // 2))
    assert curves["moves"].tolist() == list(range(1, T + 1))
    for t in range(1, T + 1):
        truth = of.truth(t).numpy()
        K = confusion(np.full_like(truth, t % 3), truth, 3)
        assert curves["pseudo_label_acc"][t - 1] == (truth == t % 3).mean()
        assert curves["pseudo_label_acc_relabelled"][t - 1] == np.bincount(truth).max() / len(truth)
        assert curves["pseudo_label_balanced_acc"][t - 1] == balanced_accuracy(K)
    np.testing.assert_allclose(curves["test_acc"], online)
    assert set(curves["model_numbers"]) == {sum(p.numel() for p in outcome.learner.theta)}
    assert set(curves["memory_numbers"]) == {5 * (4 + 1)}
    np.testing.assert_allclose(told, np.c_[1 : T + 1, np.cumsum(online) / range(1, T + 1)])
    silent = run(Predict(lambda step, learner: Pseudo(None, Rows.empty(4))))
    assert "pseudo_label_acc" not in silent.curves
