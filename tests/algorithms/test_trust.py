"""Trust in gold: against loops, and on streams that stay, move away and change places."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import cohen_kappa_score

from sdsl.algorithms import trust
from sdsl.algorithms.trust import Trust, agreement, overlap
from sdsl.core.contract import Step
from sdsl.core.replica import Draws, Rows

SEEDS = (0, 1)


def two_classes(n: int, name: str, turn: float = 0.0, noise: int = 0) -> Rows:
    """Two Gaussians at -2 and 2 on the first axis, turned by `turn` half circles; noise axes."""
    y = (torch.arange(n) % 2).expand(len(SEEDS), n)
    angle = torch.tensor(np.pi * turn)
    centre = (4.0 * y - 2)[:, :, None] * torch.stack([angle.cos(), angle.sin()])
    centre = torch.cat([centre, torch.zeros(*y.shape, noise)], 2)
    return Rows.full(centre + Draws(SEEDS, name).normal(n, 2 + noise), y)


def step(gold: Rows, kept: Rows, now: Rows) -> Step:
    return Step(2, gold, kept, now.X, [], Draws(SEEDS, "batches"))


def trusted(gold: Rows, kept: Rows, now: Rows, power: float = 3) -> torch.Tensor:
    return Trust(2 * power, power)(step(gold, kept, now), 2)


@pytest.mark.parametrize(
    ("turn", "noise", "low", "high"),
    [(0, 0, 0.4, 1), (0, 200, 0.4, 1), (0.25, 0, 0, 0.05), (0.5, 0, 0, 0.001), (1, 0, 0, 0)],
    ids=["stay", "stay, 200 axes of noise", "move", "near a crossing", "changed places"],
)
def test_gold_is_trusted_as_far_as_it_holds(turn, noise, low, high):
    gold = two_classes(500, "gold", 0, noise)
    found = trusted(gold, *(two_classes(n, str(n), turn, noise) for n in (100, 500)))
    assert ((low <= found) & (found <= high)).all(), found


def test_without_a_lookback_gold_is_all_there_is():
    gold = two_classes(20, "gold")
    assert trusted(gold, Rows.empty_like(gold.X), gold).tolist() == [1, 1]


def test_power_0_asks_nobody():
    gold, swapped = two_classes(20, "gold"), two_classes(9, "kept", 1)
    assert trusted(gold, swapped, swapped, power=0).tolist() == [1, 1]


def test_one_gold_row_a_class_is_no_yardstick_for_itself():
    """Nearest to either is the other class: gold disagrees with itself, and still measures."""
    gold, now = two_classes(2, "gold"), two_classes(2, "now")
    assert (trusted(gold, two_classes(40, "kept"), now, 1) == overlap(gold, now.X) ** 2).all()
    assert trusted(gold, two_classes(40, "kept", 1), now).tolist() == [0, 0]


def test_a_step_is_asked_once(monkeypatch):
    asked = []
    monkeypatch.setattr(trust, "overlap", lambda *a: asked.append(a) or overlap(*a))
    now = step(two_classes(30, "gold"), two_classes(20, "kept", 0.2), two_classes(40, "now", 0.2))
    both, apart = Trust(2, 3)(now, 2), (Trust(2, 0)(now, 2), Trust(0, 3)(now, 2))
    torch.testing.assert_close(both, apart[0] * apart[1])
    assert len(asked) == 1
    assert replace(now).known == {}  # another step, or a changed one, is asked anew


def slow_kappa(D, y, L, z, barred=False) -> float:
    votes = []
    for i, x in enumerate(D):
        order = [k for k in np.linalg.norm(L - x, axis=1).argsort() if not (barred and k == i)]
        votes.append(np.bincount(z[order[:5]]).argmax())
    return cohen_kappa_score(y, votes)


def slow_overlap(D, X) -> float:
    hits = 0
    for i, x in enumerate(X):
        others = np.delete(np.linalg.norm(X - x, axis=1), i)
        hits += np.linalg.norm(D - x, axis=1).min() < others.min()
    return min(1, hits / len(X) / (len(D) / (len(D) + len(X) - 1)))


def test_trust_against_loops():
    """Ragged sets: padding has no say."""
    gold, kept, now = two_classes(30, "g"), two_classes(20, "k", 0.2), two_classes(40, "n", 0.2)
    gold = Rows(gold.X, gold.y, torch.tensor([30, 22]))
    kept = Rows(kept.X, kept.y, torch.tensor([13, 20]))
    share, kappa, found = overlap(gold, now.X), agreement(gold, kept, 2), trusted(gold, kept, now)
    for s in range(2):
        (D, y), (L, z) = ((x.numpy(), c.numpy()) for x, c in (gold.replica(s), kept.replica(s)))
        near, theirs = slow_overlap(D, now.X[s].numpy()), slow_kappa(D, y, L, z)
        own = slow_kappa(D, y, D[: len(L)], y[: len(L)], barred=True)
        assert float(share[s]) == pytest.approx(near, abs=1e-6)
        assert float(kappa[s]) == pytest.approx(theirs, abs=1e-6)
        slow = (near**2 * np.clip(theirs / own, 0, 1)) ** 3
        assert float(found[s]) == pytest.approx(slow, abs=1e-5)


def on_a_line(*places: tuple[float, int, int]) -> Rows:
    """(x, class, how many) for each place; the same rows for both seeds."""
    x = torch.tensor([float(x) for x, _, n in places for _ in range(n)])
    y = torch.tensor([c for _, c, n in places for _ in range(n)])
    return Rows.full(x.view(1, -1, 1).repeat(2, 1, 1), y.expand(2, -1))


def test_the_lookback_is_trusted_as_far_as_the_new_labels_agree():
    """A third of it lies among another class now: kappa = (10/15 - 4/9) / (1 - 4/9) = 0.4."""
    kept = on_a_line((0, 0, 5), (10, 1, 5), (20, 1, 5))
    new = on_a_line((0, 0, 6), (10, 1, 6), (20, 0, 6))
    found = Trust(0, 3).beside(new, kept, step(kept, kept, new), 2)
    torch.testing.assert_close(found, torch.tensor([0.064, 0.064]))
    few = on_a_line((0, 0, 4))
    assert Trust(0, 3).beside(new, few, step(kept, few, new), 2).tolist() == [1, 1]
    assert Trust(0, 3).beside(few, kept, step(kept, kept, few), 2).tolist() == [1, 1]
    assert Trust(0, 0).beside(new, kept, step(kept, kept, new), 2).tolist() == [1, 1]


def test_the_lookback_is_trusted_as_far_as_rows_are_where_it_is():
    """Two of four rows are nearest to it; of one distribution, 15 of 18 would be: 0.5 / (15/18)."""
    kept = on_a_line((0, 0, 5), (10, 1, 5), (20, 1, 5))
    new = on_a_line((0, 0, 1), (10, 1, 1), (1000, 1, 1), (1001, 1, 1))
    labelled = on_a_line((0, 0, 5), (10, 1, 5), (20, 1, 5))
    found = Trust(2, 3).beside(labelled, kept, step(kept, kept, new), 2)
    torch.testing.assert_close(found, torch.tensor([0.36, 0.36]))
