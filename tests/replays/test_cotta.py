"""CoTTA: its limits by hand: nothing learnt leaves ST, full restore returns to the source."""

import numpy as np
import support
import torch

from sdsl.contract import Pseudo, Step
from sdsl.learner import Learner, forward
from sdsl.replays.cotta import Cotta
from sdsl.replica import Draws, Rows

HARD = support.blobs(drift=2.0, spread=1.5)


def test_without_learning_it_is_st():
    _, out, _ = support.run("method=cotta", "replay.lr=0", seeds=(10,), data=HARD)
    _, still, _ = support.run("method=st", seeds=(10,), data=HARD)
    np.testing.assert_allclose(out.R, still.R, atol=0.04)  # the teacher moves by rounding only


def test_full_restore_returns_to_the_source_and_the_teacher_is_tested():
    learner, step = small()
    replay = Cotta(steps=3, restore=1.0, ema=0.5)
    replay.start(step.gold, learner, step.draws)
    replay.replay(step, Pseudo(None, step.gold), learner)
    for p, p0 in zip(replay.student, replay.source, strict=True):
        assert torch.equal(p, p0)
    assert not torch.equal(learner.theta[0], replay.source[0])


def test_views_are_averaged_only_where_the_source_is_unsure():
    learner, step = small()
    replay = Cotta(noise=0.5, views=4)
    x, plain = step.X, forward(step.X, learner.copy())[1]
    found = replay.targets(x, learner.copy(), torch.tensor([True, False]), step.draws)
    assert torch.equal(found[1], plain[1])
    assert not torch.allclose(found[0], plain[0])
    noise = torch.randn(4, *x.shape[1:], generator=Draws((0, 1), "batches").generators[0])
    views = [forward((x[0] + 0.5 * e)[None], [p[:1] for p in learner.copy()])[1] for e in noise]
    torch.testing.assert_close(found[0], torch.cat(views).mean(0))


def small():
    learner, g = Learner((2, 8, 8, 2), (0, 1)), torch.Generator().manual_seed(0)
    X = torch.randn(2, 30, 2, generator=g)
    rows = Rows.full(X, torch.zeros(2, 30, dtype=torch.long))
    return learner, Step(1, rows, rows, X, learner.copy(), Draws((0, 1), "batches"))
