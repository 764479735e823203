"""CoTTA: its limits by hand: nothing learnt leaves ST, full restore returns to the source."""

import numpy as np
import pytest
import support
import torch
from support import component

from sdsl.core.contract import Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.network import forward
from sdsl.core.replica import Draws, Rows
from sdsl.replays.cotta import folded, source_stats

HARD = support.blobs(drift=2.0, spread=1.5)


def test_without_learning_it_is_st():
    words = "method=cotta", "replay.lr=0", "replay.batch_norm=false"
    out = support.run(*words, seeds=(10,), data=HARD).outcome
    still = support.run("method=st", seeds=(10,), data=HARD).outcome
    np.testing.assert_allclose(out.R, still.R, atol=0.04)  # the teacher moves by rounding only


def test_full_restore_returns_to_the_source_and_the_teacher_is_tested():
    learner, step = small()
    replay = component("replay", "cotta", steps=3, restore=1.0, ema=0.5, batch_norm=False)
    replay.start(step.gold, learner, step.draws)
    replay.replay(step, Pseudo(None, step.gold), learner)
    for p, p0 in zip(replay.student, replay.source, strict=True):
        assert torch.equal(p, p0)
    assert not torch.equal(learner.theta[0], replay.source[0])


@pytest.mark.parametrize("batch_norm", [False, True])
def test_views_are_averaged_only_where_the_source_is_unsure(batch_norm):
    learner, step = small()
    replay = component("replay", "cotta", noise=0.5, views=4, batch_norm=batch_norm)
    replay.start(step.gold, learner, step.draws)
    x, plain = step.X, replay.logits(step.X, learner.copy())
    found = replay.targets(x, torch.tensor([True, False]), step.draws)
    assert torch.equal(found[1], plain[1])
    assert not torch.allclose(found[0], plain[0])
    noise = torch.randn(4, *x.shape[1:], generator=Draws((0, 1), "batches").generators[0])
    views = [replay.logits(torch.stack([x[0] + 0.5 * e, x[1]]), learner.copy())[0] for e in noise]
    torch.testing.assert_close(found[0], torch.stack(views).mean(0))


def test_batch_norm_changes_nothing_on_gold_and_undoes_a_shift():
    learner, step = small()
    norm, theta = source_stats(step.gold, learner.copy()), learner.copy()
    plain = forward(step.gold.X, theta)[1]
    torch.testing.assert_close(folded(step.gold.X, theta, norm)[0], plain, atol=1e-3, rtol=0)
    moved = 3 * step.gold.X + 5  # all of it moved and stretched: the logits are back
    logits, fold = folded(moved, theta, norm)
    torch.testing.assert_close(logits, plain, atol=1e-2, rtol=0)
    torch.testing.assert_close(forward(moved, fold)[1], logits, atol=1e-4, rtol=0)


def small():
    learner, g = Learner((2, 8, 8, 2), (0, 1)), torch.Generator().manual_seed(0)
    X = torch.randn(2, 30, 2, generator=g)
    rows = Rows.full(X, torch.zeros(2, 30, dtype=torch.long))
    return learner, Step(1, rows, rows, X, learner.copy(), Draws((0, 1), "batches"))
