"""Trust in gold: against loops, and on streams that stay, move away and change places."""

import numpy as np
import pytest
import torch
from sklearn.metrics import cohen_kappa_score

from sdsl.replica import Draws, Rows
from sdsl.trust import agreement, overlap, trust

SEEDS = (0, 1)


def two_classes(n: int, name: str, shift: float = 0.0, swapped: bool = False) -> Rows:
    """Two Gaussians at -2 and 2 on the first axis, moved along the second."""
    y = (torch.arange(n) % 2).expand(len(SEEDS), n)
    centre = torch.stack([4.0 * y - 2, torch.full(y.shape, shift)], 2)
    return Rows.full(centre + Draws(SEEDS, name).normal(n, 2), 1 - y if swapped else y)


@pytest.mark.parametrize(
    ("shift", "swapped", "low", "high"),
    [(0, False, 0.75, 1), (10, False, 0, 0.01), (0, True, 0, 0.01), (1.5, False, 0.2, 0.8)],
    ids=["stays", "moves away", "changes places", "moves a little"],
)
def test_gold_is_trusted_as_far_as_it_holds(shift, swapped, low, high):
    now = two_classes(200, "now", shift, swapped)
    found = trust(two_classes(150, "gold"), two_classes(60, "kept", shift, swapped), now.X, 2)
    assert ((low <= found) & (found <= high)).all(), found


def test_without_a_lookback_gold_is_all_there_is():
    gold = two_classes(20, "gold")
    far = two_classes(20, "now", shift=50).X
    assert trust(gold, Rows.empty_like(gold.X), far, 2).tolist() == [1, 1]


def test_overlap_and_agreement_against_loops():
    """Ragged sets: padding has no say."""
    gold, kept, now = (two_classes(n, str(n), shift=0.8) for n in (30, 20, 40))
    gold = Rows(gold.X, gold.y, torch.tensor([30, 22]))
    kept = Rows(kept.X, kept.y, torch.tensor([13, 20]))
    share, kappa = overlap(gold, now.X), agreement(gold, kept, 2)
    for s in range(2):
        (D, y), (L, z), X = gold.replica(s), kept.replica(s), now.X[s]
        hits = 0
        for i, x in enumerate(X):
            others = np.delete(np.linalg.norm(X - x, axis=1), i)
            hits += np.linalg.norm(D - x, axis=1).min() < others.min()
        expected = len(D) / (len(D) + len(X) - 1)
        assert float(share[s]) == pytest.approx(min(1, hits / len(X) / expected), abs=1e-6)
        votes = [np.bincount(z[np.linalg.norm(L - x, axis=1).argsort()[:5]]).argmax() for x in D]
        assert float(kappa[s]) == pytest.approx(max(0, cohen_kappa_score(y, votes)), abs=1e-6)
