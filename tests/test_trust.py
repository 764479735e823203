"""Trust in gold: against loops, and on streams that stay, move away and change places."""

import numpy as np
import pytest
import torch
from sklearn.metrics import cohen_kappa_score

from sdsl.contract import Step
from sdsl.replica import Draws, Rows
from sdsl.trust import agreement, trust

SEEDS = (0, 1)


def two_classes(n: int, name: str, turn: float = 0.0, noise: int = 0) -> Rows:
    """Two Gaussians at -2 and 2 on the first axis, turned by `turn` half circles; noise axes."""
    y = (torch.arange(n) % 2).expand(len(SEEDS), n)
    angle = torch.tensor(np.pi * turn)
    centre = (4.0 * y - 2)[:, :, None] * torch.stack([angle.cos(), angle.sin()])
    centre = torch.cat([centre, torch.zeros(*y.shape, noise)], 2)
    return Rows.full(centre + Draws(SEEDS, name).normal(n, 2 + noise), y)


def trusted(gold: Rows, lookback: Rows, power: float = 3) -> torch.Tensor:
    draws = Draws(SEEDS, "batches")
    return trust(power, Step(2, gold, lookback, gold.X, [], draws), 2)


@pytest.mark.parametrize(
    ("turn", "noise", "low", "high"),
    [(0, 0, 0.8, 1), (0, 200, 0.5, 1), (0.4, 0, 0, 0.25), (0.5, 0, 0, 0.1), (1, 0, 0, 0)],
    ids=["stay", "stay, 200 axes of noise", "near a crossing", "crossing", "changed places"],
)
def test_gold_is_trusted_as_far_as_it_holds(turn, noise, low, high):
    found = trusted(two_classes(150, "gold", 0, noise), two_classes(60, "kept", turn, noise))
    assert ((low <= found) & (found <= high)).all(), found


def test_without_a_lookback_gold_is_all_there_is():
    gold = two_classes(20, "gold")
    assert trusted(gold, Rows.empty_like(gold.X)).tolist() == [1, 1]


def test_power_0_asks_nobody():
    assert trusted(two_classes(20, "gold"), two_classes(9, "kept", 1), 0).tolist() == [1, 1]


def test_one_gold_row_a_class_is_no_yardstick_for_itself():
    """Nearest to either is the other class: gold disagrees with itself, and still measures."""
    gold = two_classes(2, "gold")
    assert trusted(gold, two_classes(40, "kept")).tolist() == [1, 1]
    assert trusted(gold, two_classes(40, "kept", 1)).tolist() == [0, 0]


def slow_kappa(D, y, L, z, barred=False) -> float:
    votes = []
    for i, x in enumerate(D):
        order = [k for k in np.linalg.norm(L - x, axis=1).argsort() if not (barred and k == i)]
        votes.append(np.bincount(z[order[:5]]).argmax())
    return cohen_kappa_score(y, votes)


def test_trust_against_loops():
    """Ragged sets: padding has no say."""
    gold, kept = two_classes(30, "gold"), two_classes(20, "kept", 0.2)
    gold = Rows(gold.X, gold.y, torch.tensor([30, 22]))
    kept = Rows(kept.X, kept.y, torch.tensor([13, 20]))
    kappa, found = agreement(gold, kept, 2), trusted(gold, kept)
    for s in range(2):
        (D, y), (L, z) = ((x.numpy(), c.numpy()) for x, c in (gold.replica(s), kept.replica(s)))
        theirs = slow_kappa(D, y, L, z)
        own = slow_kappa(D, y, D[: len(L)], y[: len(L)], barred=True)
        assert float(kappa[s]) == pytest.approx(theirs, abs=1e-6)
        assert float(found[s]) == pytest.approx(np.clip(theirs / own, 0, 1) ** 3, abs=1e-5)
