"""CoTTA against autograd and torch's Adam; nothing learnt leaves ST; a shift is undone."""

import numpy as np
import pytest
import support
import torch
import torch.nn.functional as F
from made_steps import learner, step

from sdsl.config.schema import component
from sdsl.core.contract import Pseudo
from sdsl.core.draws import Batches
from sdsl.core.network import affine, graph
from sdsl.core.rows import Rows
from sdsl.replays.cotta import folded, source_stats

GOLD = support.some_rows(30, 2, 2)


def small():
    of = learner(2, 8, 8, 2)
    of.theta[-1] *= 10  # as sure as a trained network
    return of, step(GOLD, Rows.empty(2), 2 * support.some_rows(41, seed=1).X + 1)


def normalised(x, theta, norm):
    """Logits of a network whose hidden units torch's batch norm gives gold's mean and sd."""
    for layer, stats in zip(theta[:-1], norm or [None] * 2, strict=True):
        x = affine(x, layer)
        if stats:
            mean, sd = (part.double() for part in stats)
            x = F.batch_norm(x, None, None, sd, mean, training=True)
        x = x.relu()
    return affine(x, theta[-1])


def slow_replay(how, now, theta, norm):
    """(logits of the teacher on the segment, times that views were averaged), in float64."""
    source = [p.double() for p in theta]
    teacher, student = source, [(p + 0.1).requires_grad_() for p in source]
    optimizer, viewed = torch.optim.Adam(student, lr=how.lr), 0
    rows = [Rows.unlabelled(now.X.double())]
    for x, _, _ in Batches(rows, [1.0], how.steps, how.batch, now.draws):
        views = [x]
        if normalised(x, source, norm).softmax(1).amax(1).mean() < how.sure:
            views = list(x + how.noise * now.draws.normal(how.views, *x.shape))
            viewed += 1
        target = torch.stack([normalised(v, teacher, norm) for v in views]).mean(0)
        loss = F.cross_entropy(normalised(x, student, norm), target.softmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pairs = zip(teacher, student, strict=True)
        teacher = [how.ema * a + (1 - how.ema) * b.detach() for a, b in pairs]
        for p, p0 in zip(student, source, strict=True):
            back = now.draws.uniform(*p.shape) < how.restore_share
            p.data[back] = p0[back]
    return normalised(now.X.double(), teacher, norm), viewed


@pytest.mark.parametrize(("batch_norm", "sure"), [(False, 0.85), (True, 0.93)])
def test_a_whole_replay_against_autograd(batch_norm, sure):
    """Of some batches the source is unsure."""
    (of, now), (copy, again) = small(), small()
    views = {"sure": sure, "noise": 0.5, "views": 4}
    rest = {"steps": 6, "batch": 8, "lr": 0.05, "ema": 0.7, "restore_share": 0.3}
    how = component("replay", "cotta", batch_norm=batch_norm, **views | rest)
    how.start(GOLD, of, now.draws)
    for p in how.student:
        p += 0.1  # where it is its teacher the slope is 0, and Adam follows the rounding
    norm = source_stats(GOLD.X, of.theta) if batch_norm else None
    log = how.replay(now, Pseudo(None, GOLD), of)
    logits, viewed = slow_replay(how, again, copy.theta, norm)
    assert log["viewed"] == viewed / 6 and 0 < viewed < 6
    torch.testing.assert_close(graph(now.X, of.theta).double(), logits, rtol=1e-3, atol=1e-4)


def test_batch_norm_changes_nothing_on_gold_and_undoes_a_shift():
    of, X = small()[0], GOLD.X
    norm, plain = source_stats(X, of.theta), graph(X, of.theta)
    torch.testing.assert_close(folded(X, of.theta, norm)[0], plain, atol=1e-3, rtol=0)
    moved = 3 * X + 5  # all of it moved and stretched: the logits are back
    logits, fold = folded(moved, of.theta, norm)
    torch.testing.assert_close(logits, plain, atol=1e-2, rtol=0)
    torch.testing.assert_close(graph(moved, fold), logits, atol=1e-4, rtol=0)


def test_without_learning_it_is_st():
    data = support.blobs(drift=2.0, spread=1.5)
    out = support.run("method=cotta", "replay.lr=0", "replay.batch_norm=false", data=data).outcome
    assert np.array_equal(out.R, support.run("method=st", data=data).outcome.R)
