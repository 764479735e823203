"""Several prototypes a class: against a slow NumPy version, crossing modes, empty classes."""

import numpy as np
import pytest
import torch
from support import component

from sdsl.core.contract import Step
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.labelers.modes import LEAST, Modes, followed, modes, moved, supported

SEEDS, C = (3, 4), 2
FIT = {"steps": 5, "batch": 0, "lr": 0.3, "consistency": 0.0}  # nothing random
WHOLE = {"overlap": 0, "agreement": 0}  # gold weighs whole
CORNERS = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])  # classes 0 1 0 1


def crossed(n: int, angle: float, draws: Draws) -> Rows:
    """Two classes of two modes, at opposite corners of a square that has turned by `angle`."""
    corner = torch.arange(n) % 4
    c, s = np.cos(angle), np.sin(angle)
    centre = torch.tensor(CORNERS @ np.array([[c, s], [-s, c]]), dtype=torch.float32)[corner]
    y = (corner % 2).expand(len(draws.generators), n)
    return Rows.full(centre + 0.25 * draws.normal(n, 2), y)


def step(angle=0.4, seeds=SEEDS) -> Step:
    draws = Draws(seeds, "rows")
    gold, kept, new = (crossed(n, a, draws) for n, a in ((24, 0), (16, angle / 2), (40, angle)))
    return Step(2, gold, kept, new.X, [], Draws(seeds, "batches"), new.y)


def labeler(**settings) -> Modes:
    return component("labeler", "modes", fit=FIT, trust=WHOLE, **{"shares": "equal"} | settings)


def slow_lloyd(z, U, may, rounds):
    """may[i]: the prototypes that row i may belong to."""
    for _ in range(rounds):
        near = [min(may[i], key=lambda k, i=i: np.linalg.norm(z[i] - U[k])) for i in range(len(z))]
        of = [[z[i] for i in range(len(z)) if near[i] == k] for k in range(len(U))]
        U = np.array([np.mean(rows, 0) if rows else u for rows, u in zip(of, U, strict=True)])
    return U


def slow_modes(z, y, k):
    U = []
    for c in range(C):
        rows = [row for row, label in zip(z, y, strict=True) if label == c]
        found = [max(rows, key=lambda row, rows=rows: np.linalg.norm(row - np.mean(rows, 0)))]
        while len(found) < k:
            gap = [min(np.linalg.norm(row - u) for u in found) for row in rows]
            found.append(rows[int(np.argmax(gap))])
        U += found
    return slow_lloyd(z, np.array(U), [[c * k + j for j in range(k)] for c in y], 10)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_labels_are_those_of_the_equations(k):
    now, learner = step(), Learner((2, 6, 5, C), SEEDS)
    y = labeler(modes=k, rounds=3).label(now, learner).y
    for s in range(len(SEEDS)):

        def part(z, like):
            return z / np.sqrt(np.mean(np.sum((like - like.mean(0)) ** 2, 1)))

        f = [learner.features(x)[s].numpy() for x in (now.lookback.X, now.X)]
        x = [x[s].numpy() for x in (now.lookback.X, now.X)]
        kept, z = (np.c_[part(x[i], x[1]), part(f[i], f[1])] for i in (0, 1))
        U = slow_modes(kept, now.lookback.y[s].tolist(), k)
        U = slow_lloyd(z, U, [range(C * k)] * len(z), 3)
        slow = [int(np.argmin(np.linalg.norm(row - U, axis=1))) // k for row in z]
        assert y[s].tolist() == slow


def test_crossed_modes_are_followed_where_one_prototype_a_class_is_lost():
    """The square turns by a right angle in 12 steps: the classes end in each other's places."""
    draws, angles = Draws(SEEDS, "stream"), np.linspace(0, np.pi / 2, 13)
    right = {}
    for k, shares in ((1, "equal"), (2, "equal"), (2, "estimated")):
        kept, learner = crossed(40, 0, draws), Learner((2, 20, 20, C), SEEDS)
        following = labeler(modes=k, shares=shares)
        following.start(kept, learner, draws)
        for t, angle in enumerate(angles[1:], 2):
            new = crossed(80, angle, draws)
            now = Step(t, kept, kept, new.X, [], Draws(SEEDS, f"batches {t}"))
            y = following.label(now, learner).y
            kept = Rows.full(new.X[:, :40], y[:, :40])
        right[k, shares] = (y == new.y).float().mean(1)
    assert (right[2, "equal"] > 0.95).all()
    assert (right[2, "estimated"] > 0.95).all()
    assert (right[1, "equal"] < 0.8).all()


def test_a_class_without_rows_is_given_to_nobody():
    z = Draws(SEEDS, "z").normal(10, 3)
    _, empty = modes(z, Rows.full(z, torch.zeros(2, 10, dtype=torch.long)), C, 2)
    assert empty.tolist() == [[False, False, True, True]] * 2
    now = step()
    kept = Rows.full(now.lookback.X, torch.ones_like(now.lookback.y))
    only = Step(2, now.gold, kept, now.X, [], now.draws)
    assert (labeler().label(only, Learner((2, 6, 5, C), SEEDS)).y == 1).all()


def test_padding_has_no_say():
    z = Draws(SEEDS, "z").normal(10, 3)
    y = (torch.arange(10) % 2).expand(2, 10)
    far = torch.cat([z, z + 100], 1), torch.cat([y, y], 1)
    padded = modes(far[0], Rows(*far, torch.tensor([10, 10])), C, 2)
    torch.testing.assert_close(padded, modes(z, Rows.full(z, y), C, 2))


def test_a_prototype_without_rows_stays():
    z, U = torch.zeros(1, 4, 2), torch.tensor([[[0.0, 0.0], [9.0, 9.0]]])
    after = moved(z, U, torch.zeros(1, 1, 2, dtype=torch.bool), torch.ones(1, 4), 2)
    assert torch.equal(after, U)


def test_the_first_step_starts_from_gold():
    now = step(0.0)
    first = Step(1, now.gold, Rows.empty_like(now.X), now.X, [], now.draws)
    y = labeler().label(first, Learner((2, 6, 5, C), SEEDS)).y
    assert ((y == now.truth).float().mean(1) > 0.95).all()


def unequal(sizes, draws: Draws, shift=0.0) -> Rows:
    """Two round classes, three standard deviations apart."""
    y = torch.arange(C).repeat_interleave(torch.tensor(sizes)).expand(len(draws.generators), -1)
    return Rows.full(
        draws.normal(sum(sizes), 2) + 3 * y[:, :, None] * torch.tensor([1.0, 0]) + shift, y
    )


def test_a_rare_class_does_not_take_a_part_of_the_large_one():
    draws = Draws(SEEDS, "unequal")
    gold, kept, new = (unequal(n, draws) for n in ((190, 10), (95, 5), (380, 20)))
    right = {}
    for shares in ("equal", "estimated"):
        learner, one = Learner((2, 20, 20, C), SEEDS), labeler(shares=shares)
        one.start(gold, learner, draws)
        assert one.last_shares.tolist() == [[0.95, 0.05]] * 2
        y = one.label(Step(2, gold, kept, new.X, [], Draws(SEEDS, "batches")), learner).y
        right[shares] = (y == new.y).float().mean(1)
    assert (right["equal"] < 0.9).all()
    assert (right["estimated"] > 0.95).all()
    assert (one.last_shares[:, 1] < 0.1).all()  # and the next step knows it


def test_a_mode_of_few_rows_is_none():
    rows = unequal((40, 2 * LEAST - 1), Draws(SEEDS, "few"))
    z = rows.X
    U, _ = modes(z, rows, C, 2)
    found, size = supported(z, rows, U, C)
    assert torch.equal(found[:, :2], U[:, :2])  # the large class keeps both
    assert (size[:, 0] >= LEAST).all() and (size.sum(2) == torch.tensor([40, 9])).all()
    torch.testing.assert_close(found[:, 2], z[:, 40:].mean(1))
    assert size[:, 1].tolist() == [[9, 0]] * 2


def test_with_shares_too_a_class_without_rows_is_given_to_nobody_and_replicas_do_not_mix():
    now = step()
    kept = Rows.full(now.lookback.X, torch.ones_like(now.lookback.y))
    only, learner = Step(2, now.gold, kept, now.X, [], now.draws), Learner((2, 6, 5, C), SEEDS)
    one = labeler(shares="estimated")
    one.start(now.gold, learner, now.draws)
    assert (one.label(only, learner).y == 1).all()
    both = labelled(SEEDS)
    assert torch.equal(both[1:], labelled(SEEDS[1:]))


def labelled(seeds) -> torch.Tensor:
    now, learner, one = step(seeds=seeds), Learner((2, 6, 5, C), seeds), labeler(shares="estimated")
    one.start(now.gold, learner, now.draws)
    return one.label(now, learner).y


def test_a_mode_that_may_have_no_row_has_no_share():
    """Of a class with one prototype the second stands in the large class; it would count there."""
    z = unequal((95, 5), Draws(SEEDS, "barred")).X
    U = torch.tensor([[-0.5, 0.0], [0.5, 0.0], [3.0, 0.0], [0.0, 0.5]]).expand(2, 4, 2)
    barred = torch.tensor([[False, False, False, True]] * 2)
    score, share = followed(z, U, torch.zeros(2, 4), barred, 0)
    assert (share[:, 3] == 0).all() and (score[:, :, 3] == -torch.inf).all()
    torch.testing.assert_close(share.sum(1), torch.ones(2, dtype=share.dtype))
    _, free = followed(z, U, torch.zeros(2, 4), ~torch.ones_like(barred), 0)
    assert (free[:, 2:].sum(1) > 0.2).all() and (share[:, 2:].sum(1) < 0.1).all()
