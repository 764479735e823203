"""Who decides: the gate on made-up evidence, and the whole labeler on streams."""

from dataclasses import dataclass

import numpy as np
import pytest
import support
import torch
from made_steps import learner, step

from sdsl.config.schema import component
from sdsl.core.draws import Draws
from sdsl.core.rows import Rows
from sdsl.labelers.tracker import Tracked, fit

N, C = 100, 2


def gold(gap: float = 6.0, n: int = N) -> Rows:
    """Two round classes, so many deviations apart."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % C
    return Rows(torch.tensor(rng.normal(size=(n, 2)) + gap * y[:, None]).float(), torch.tensor(y))


def begun(rows: Rows, **changes):
    learners = [{"_target_": "sklearn.naive_bayes.GaussianNB"}]
    made = component("labeler", "steady", vote={"learners": learners}, **changes)
    of = learner(2, 4, C)
    made.start(rows, of, Draws(0, "batches"))
    return made, of


@dataclass
class Made:
    """In the place of a tracker: the vote's labels, of which a share is turned."""

    share: float
    surprise: float = 0.0
    numbers: int = 7

    def label(self, step, learner):
        y = learner.rule.probabilities(step.X).argmax(1)
        y[: round(self.share * len(y))] ^= 1
        log = {"surprise": self.surprise, "model_numbers": 7.0}
        p = torch.nn.functional.one_hot(y, C).double()
        return Tracked(y, Rows(step.X, y), log, p, mixture=fit(gold(), 1, 1000))


def decisions(*evidence: tuple[float, float, float]) -> list[bool]:
    """Whether the tracker decides, for (contradiction, difference of twins, surprise) by step."""
    made, of = begun(gold())
    found = []
    for t, (differ, torn, surprise) in enumerate(evidence, 1):
        if made.trackers:
            made.trackers = [Made(differ, surprise), Made(0.5), Made(0.5 - torn), Made(0), Made(0)]
        pseudo = made.label(step(gold(), gold()[:0], gold().X, t=t), of)
        found.append(bool(pseudo.log["tracker_decides"]))
        assert (of.rule is None) == found[-1] == (pseudo.note == "the tracker decides")
        right = "the tracker decides" if found[-1] else "the vote decides: "
        assert pseudo.note.startswith(right)
    return found


@pytest.mark.parametrize(
    ("evidence", "tracker"),
    [
        ([(0.0, 0.0, 0.0)], [True]),
        ([(0.2, 0.1, 9.0)], [True]),  # each at its limit
        ([(0.31, 0.0, 0.0), (0.0, 0.0, 0.0)], [False, False]),  # for good
        ([(0.0, 0.11, 0.0), (0.9, 0.0, 0.0)], [False, True]),  # for this segment
        ([(0.0, 0.0, 0.0), (0.21, 0.0, 4.1), (0.0, 0.0, 0.0)], [True, False, False]),  # a jump
        ([(0.0, 0.0, 0.0), (0.21, 0.0, 3.9)], [True, True]),  # foreseen
        ([(0.2, 0.0, 0.0), (0.4, 0.0, 4.1)], [True, True]),  # not a new contradiction
        ([(0.3, 0.0, 0.0), (0.4, 0.0, 0.0), (0.9, 0.0, 9.0)], [True, True, True]),  # stale vote
    ],
)
def test_who_decides(evidence, tracker):
    assert decisions(*evidence) == tracker


def test_the_vote_decides_where_gold_says_so():
    made, of = begun(gold(gap=0.5))
    assert made.trackers == [] and "on gold the tracker has an accuracy of 0." in made.against
    made, of = begun(gold(n=6))
    assert made.trackers == [] and "too few rows" in made.against
    pseudo = made.label(step(gold(n=6), gold()[:0], gold().X), of)
    assert pseudo.note.startswith("the vote decides: gold has too few rows")
    assert pseudo.log["model_numbers"] == 4.0  # two moments of two features


def test_sure_is_drawn_to_the_middle_by_what_the_twins_differ_on():
    made, of = begun(gold())
    made.trackers = [Made(0.0), Made(0.5), Made(0.42), Made(0), Made(0)]
    pseudo = made.label(step(gold(), gold()[:0], gold().X, t=1), of)
    np.testing.assert_allclose(pseudo.p.amax(1), 0.92 + 0.08 / 2)


def moving(T: int = 30, by: float = 0.6):
    """The classes of gold walk past the place where the other one began."""
    rng = np.random.default_rng(1)
    for t in range(1, T + 1):
        y = rng.permutation(N) % C
        X = rng.normal(size=(N, 2)) + 6 * y[:, None] + by * t
        yield torch.tensor(X).float(), torch.tensor(y)


def test_follows_what_a_fixed_vote_cannot():
    (made, of), right = begun(gold()), []
    for t, (X, y) in enumerate(moving(), 1):
        pseudo = made.label(step(gold(), gold()[:0], X, t=t), of)
        right.append(float((pseudo.y == y).double().mean()))
    assert min(right) > 0.95
    assert pseudo.note == "the tracker decides"


@pytest.mark.parametrize("gap", [6.0, 0.5])
def test_a_restored_state_goes_on_with_the_same_bits(gap):
    made, of = begun(gold(gap))
    segments = list(moving(6))
    for t, (X, _) in enumerate(segments[:3], 1):
        made.label(step(gold(gap), gold()[:0], X, t=t), of)
    again, its = begun(gold(gap))
    again.restore(made.state(), gold(gap), its)
    assert (its.rule is None) == (of.rule is None) == (gap == 6.0)
    for t, (X, _) in enumerate(segments[3:], 4):
        found = [
            m.label(step(gold(gap), gold()[:0], X, t=t), o) for m, o in ((made, of), (again, its))
        ]
        assert support.bits([found[0].p, found[0].log]) == support.bits([found[1].p, found[1].log])
