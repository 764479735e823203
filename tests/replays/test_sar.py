"""SAR: the push has length rho, unreliable rows do not count, collapse sends one replica back."""

import pytest
import torch
from support import component

from sdsl.core.contract import Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.replays.sar import mean_over

ADAPT = ["affine", "encoder", "all"]


def test_the_push_has_length_rho_in_every_replica():
    push = component("replay", "sar", rho=0.05).ascent([torch.randn(3, 4, 5), torch.randn(3, 2, 2)])
    length = sum(p.square().sum((1, 2)) for p in push).sqrt()
    torch.testing.assert_close(length, torch.full((3,), 0.05))


def test_mean_over_reliable_rows_only():
    H, keep = (
        torch.tensor([[0.1, 0.3, 9.0], [1, 1, 1]]),
        torch.tensor([[1, 1, 0], [0, 0, 0]]).bool(),
    )
    torch.testing.assert_close(mean_over(H, keep), torch.tensor([0.2, 0.0]))


@pytest.mark.parametrize("adapt", ADAPT)
def test_starts_at_the_source_and_lowers_entropy(adapt):
    learner, step, replay = small(adapt=adapt, gate=1.0, reset=0.0, lr=0.05, steps=30)
    for p, p0 in zip(replay.network(), replay.source, strict=True):
        torch.testing.assert_close(p, p0)
    before = replay.entropy(step.X).mean(1)
    replay.replay(step, Pseudo(None, step.gold), learner)
    assert (replay.entropy(step.X).mean(1) < before).all()


@pytest.mark.parametrize("adapt", ADAPT)
def test_no_reliable_row_no_movement(adapt):
    learner, step, replay = small(adapt=adapt, gate=0.0)
    replay.replay(step, Pseudo(None, step.gold), learner)
    for p, p0 in zip(learner.theta, replay.source, strict=True):
        torch.testing.assert_close(p, p0)


def test_only_the_collapsed_replica_goes_back():
    _, _, replay = small(adapt="all")
    with torch.no_grad():
        for p in replay.free:
            p += 1
    low = replay.recover(torch.tensor([0.01, 0.5]), torch.tensor([True, True]), floor=0.1)
    assert low.tolist() == [1, 0]
    assert torch.equal(replay.free[0][0], replay.source[0][0])
    assert torch.equal(replay.free[0][1], replay.source[0][1] + 1)
    assert replay.ema.isnan().tolist() == [True, False]


def small(**settings):
    learner, g = Learner((2, 8, 8, 2), (0, 1)), torch.Generator().manual_seed(0)
    X = torch.randn(2, 30, 2, generator=g)
    rows = Rows.full(X, torch.zeros(2, 30, dtype=torch.long))
    step = Step(1, rows, rows, X, learner.copy(), Draws((0, 1), "batches"))
    with torch.no_grad():
        learner.theta[-1] *= 20  # as sure as a trained network
    replay = component("replay", "sar", **settings)
    replay.start(rows, learner, step.draws)
    return learner, step, replay
