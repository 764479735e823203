"""The bank: what fits the budget, predictions of a velocity and of a turn, clarity by hand."""

from dataclasses import replace

import numpy as np
import torch

from sdsl.algorithms import bank as banks
from sdsl.algorithms.bank import Member, Plan, begin, clarity, move, numbers, plan, predict


def gold(n=60, seed=0):
    g = torch.Generator().manual_seed(seed)
    place = torch.tensor([[3.0, 0], [0, 3], [-3, 0]]).double()
    X = torch.cat([p + torch.randn(n, 2, generator=g, dtype=torch.float64) for p in place])
    return X, torch.arange(3).repeat_interleave(n), g


def bank_of(*members):
    X, y, g = gold()
    return begin(X, y, Plan("full", list(members), 0), 3, 1e-4, g)


def test_members_fit_the_budget_and_equal_ones_go():
    _, y, _ = gold()
    made = plan(y, [1, 2, 4], True, [2.0], 2, 3, budget=10_000)
    assert (made.form, len(made.members)) == ("full", 6)
    assert [m.flow for m in made.members] == [False] * 3 + [True] * 3  # flows last
    assert made.numbers == sum(numbers([m.components] * 3, 2, "full", m.flow) for m in made.members)
    few = torch.arange(3).repeat_interleave(9)  # rows for one component a class only
    made = plan(few, [1, 2, 4], True, [2.0], 2, 3, 10_000)
    assert made.members == [Member(1, False, 2.0), Member(1, True, 2.0)]
    many = torch.arange(10).repeat_interleave(16)
    made = plan(many, [1, 2, 4], True, [2.0, 0.5], 64, 10, 17_610)
    assert (made.form, made.members) == ("tied", [Member(1, False, 2.0)])
    assert made.numbers < 17_610
    assert plan(many, [1], True, [2.0], 500, 10, 61_310).form == "diagonal"


def test_other_shares_are_tried_with_the_components_that_suit_gold():
    _, y, _ = gold()
    made = plan(y, [1, 2, 4], True, [2.0, 0.5], 2, 3, 10_000, likely=2)
    assert [m for m in made.members if m.share == 0.5] == [Member(2, False, 0.5)]
    assert len(made.members) == 7
    assert [m.flow for m in made.members] == [False] * 4 + [True] * 3
    made = plan(y, [1, 4], False, [2.0, 0.5], 2, 3, 10_000, likely=2)
    assert [m for m in made.members if m.share == 0.5] == [Member(1, False, 0.5)]


def test_numbers_by_hand():
    # two components in 3 features: means and velocities 12, weights 2, covariances 12, pooled 6,
    # score 1; a flow adds a symmetric and a full matrix, 6 + 9
    assert numbers([1, 1], 3, "full", False) == 33
    assert numbers([1, 1], 3, "full", True) == 48


def test_a_velocity_is_learnt_and_predicted():
    bank = bank_of(Member(1, False, 2.0))
    first, step = bank.mix.mean.clone(), torch.tensor([0.5, -0.2]).double()
    clear = torch.ones(1, 3).double()
    for _ in range(60):
        start, velocity = predict(bank)
        mix = replace(bank.mix, mean=bank.mix.mean + step)
        bank = move(bank, start, velocity, mix, clear)
    start, _ = predict(bank)
    assert torch.allclose(bank.mix.mean, first + 60 * step)
    gap = (start.mean - bank.mix.mean - step).abs().max()
    assert gap < 0.2 * step.norm()


def test_a_turn_is_predicted_from_two_steps():
    bank = bank_of(Member(1, True, 2.0))
    a = np.radians(25)
    turn = torch.tensor([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    for _ in range(4):
        start, velocity = predict(bank)
        c = banks.centre(bank.mix)
        mix = replace(bank.mix, mean=c + (bank.mix.mean - c) @ turn.T)
        bank = move(bank, start, velocity, mix, torch.ones(1, 3).double())
    c = banks.centre(bank.mix)
    far = (predict(bank)[0].mean - c - (bank.mix.mean - c) @ turn.T).norm(dim=2).max()
    assert far < 0.25  # of a way of 1.3


def test_clarity_by_hand():
    owner = torch.tensor([[0, 1]])
    apart = torch.tensor([[[1.0, 0], [0, 1]]]).double()
    mixed = torch.full((1, 2, 2), 0.5).double()
    assert clarity(apart, owner, 2).tolist() == [[1, 1]]
    assert clarity(mixed, owner, 2).tolist() == [[0, 0]]


def test_what_is_not_clear_moves_with_the_others():
    bank = bank_of(Member(1, False, 2.0))
    start, velocity = predict(bank)
    away = torch.tensor([[[1.0, 0], [1, 0], [4, 0]]]).double()
    mix = replace(start, mean=start.mean + away, weight=torch.full((1, 3), 1 / 3).double())
    moved = move(bank, start, velocity, mix, torch.zeros(1, 3).double())
    assert torch.allclose(moved.mix.mean - start.mean, torch.tensor([2.0, 0]).double())
    assert torch.equal(moved.mix.cov, start.cov)
