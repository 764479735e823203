"""The repaired method: trust, shares and running scale, against slow loops and by hand."""

import numpy as np
import pytest
import torch
from made_steps import learner, step
from sklearn.metrics import cohen_kappa_score

from sdsl.config.schema import component
from sdsl.core.contract import Pseudo
from sdsl.core.draws import Draws
from sdsl.core.rows import Rows
from sdsl.core.scaler import Scaler
from sdsl.replays import repaired
from sdsl.replays.repaired import Trust, assign_by_shares, overlap, units_of

C = 3


def two_classes(n: int, name: str, turn: float = 0.0, noise: int = 0) -> Rows:
    """Two Gaussians at -2 and 2 on the first axis, turned by `turn` half circles; noise axes."""
    y, angle = torch.arange(n) % 2, torch.tensor(np.pi * turn)
    centre = (4.0 * y - 2)[:, None] * torch.stack([angle.cos(), angle.sin()])
    centre = torch.cat([centre, torch.zeros(n, noise)], 1)
    return Rows(centre + Draws(0, name).normal(n, 2 + noise), y)


def trusted(gold: Rows, kept: Rows, now: Rows, power: float = 3) -> float:
    d = gold.X.shape[1]
    encoder = torch.cat([torch.eye(d), torch.full((1, d), 100.0)])  # f(x) = x + 100
    theta = [encoder, torch.zeros(d + 1, 2)]
    return Trust(2 * power, power)(step(gold, kept, now.X, theta=theta), 2)


@pytest.mark.parametrize(("turn", "noise", "low", "high"), [
    (0, 0, 0.4, 1), (0, 200, 0.4, 1), (0.25, 0, 0, 0.05), (0.5, 0, 0, 0.001), (1, 0, 0, 0),
], ids=["stay", "stay, 200 axes of noise", "move", "near a crossing", "swap"])  # fmt: skip
def test_gold_is_trusted_as_far_as_it_holds(turn, noise, low, high):
    gold = two_classes(500, "gold", 0, noise)
    assert low <= trusted(gold, *(two_classes(n, str(n), turn, noise) for n in (100, 500))) <= high


def test_gold_is_trusted_fully_without_a_vote_and_with_power_0():
    gold, swapped = two_classes(20, "gold"), two_classes(9, "kept", 1)
    assert trusted(gold, Rows.empty(2), gold) == 1
    assert trusted(gold, swapped[:4], gold) == 1  # five rows vote
    assert trusted(gold, swapped, swapped) == 0
    assert trusted(gold, swapped, swapped, power=0) == 1


def test_with_one_gold_row_per_class_agreement_is_with_the_lookback_alone():
    gold, now = two_classes(2, "gold"), two_classes(2, "now")
    assert trusted(gold, two_classes(40, "kept"), now, 1) == overlap(gold.X, now.X) ** 2
    assert trusted(gold, two_classes(40, "kept", 1), now) == 0


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
    share, expected = hits / len(X), len(D) / (len(D) + len(X) - 1)
    errors = (expected - share) / np.sqrt(expected * (1 - expected) / len(X))
    return min(1, share / expected) ** np.clip((errors - 2) / 2, 0, 1)


@pytest.mark.parametrize("turn", [0.1, 0.2, 0.25, 0.3])
def test_trust_against_loops(turn):
    gold, kept, now = two_classes(30, "g"), two_classes(20, "k", 0.2), two_classes(90, "n", turn)
    (D, y), (L, z) = ((rows.X.numpy(), rows.y.numpy()) for rows in (gold, kept))
    near, theirs = slow_overlap(D, now.X.numpy()), slow_kappa(D, y, L, z)
    own = slow_kappa(D, y, D[: len(L)], y[: len(L)], barred=True)
    assert float(overlap(gold.X, now.X)) == pytest.approx(near, abs=1e-6)
    assert float(repaired.kappa(gold, kept, 2)) == pytest.approx(theirs, abs=1e-6)
    share = np.clip(theirs / own, 0, 1)
    assert float(repaired.agreement(gold, kept, 2)) == pytest.approx(share, abs=1e-6)
    slow = (near**2 * share) ** 3
    assert trusted(gold, kept, now) == pytest.approx(slow, abs=1e-3)


# Shares


def rows(sizes, seed=0, m=4):
    """(features [n, m], labels [n]) of Gaussian classes 3 standard deviations apart."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    f = rng.normal(size=(len(y), m)) + 3 * np.eye(len(sizes), m)[y]
    return torch.tensor(f).float(), torch.tensor(y)


def means(f, y, classes=C):
    return torch.stack([f[y == c].mean(0) for c in range(classes)])


def slow(f, U, y, logits, trust, before):
    """The formula, row by row, with the inverse of the spread in the span of the prototypes."""
    f, U, y = f.double().numpy(), U.double().numpy(), y.numpy()
    count = np.bincount(y, minlength=len(U)) + np.array(before) + 1
    share = np.log(count / count.sum())
    basis = np.linalg.svd(U - U.mean(0))[2][: len(U) - 1]
    gaps = (f - U[y]) @ basis.T
    inverse = np.linalg.inv(gaps.T @ gaps / len(y))
    p = logits.double().numpy()
    p = p - np.log(np.exp(p).sum(1, keepdims=True))
    found = []
    for x, own in zip(f, p, strict=True):
        far = [(basis @ (x - u)) @ inverse @ (basis @ (x - u)) for u in U]
        score = share - np.array(far) / 2
        found.append(np.argmax((1 - trust / 2) * score + trust / 2 * own))
    return found


@pytest.mark.parametrize("before", [(0, 0, 0), (20, 100, 5)])
@pytest.mark.parametrize("trust", [0.0, 0.4, 1.0])
def test_shares_against_a_slow_version(trust, before, monkeypatch):
    f, y = rows([60, 30, 10])
    logits, U = torch.randn(100, C, generator=torch.Generator().manual_seed(0)), means(f, y)
    monkeypatch.setattr(repaired, "ROUNDS", 1)
    found, share = assign_by_shares(f, U, y, logits, trust, torch.tensor(before))
    assert found.tolist() == slow(f, U, y, logits, trust, before)
    counts = np.array([61, 31, 11]) + before
    assert share.tolist() == pytest.approx((counts / counts.sum()).tolist())


def test_a_rare_class_is_not_filled_up():
    """Nearest prototypes give class 1 the edge of class 0; with shares it keeps its own rows."""
    f, y = rows([1900, 100], m=2)
    U = means(f, y, 2)
    nearest = torch.cdist(f, U).argmin(1)
    found, _ = assign_by_shares(f, U, y, torch.zeros(2000, 2), 0.0, torch.zeros(2))
    assert int(found[y == 0].sum()) < int(nearest[y == 0].sum()) / 2
    assert int((found != y).sum()) < int((nearest != y).sum())


def test_the_last_shares_keep_a_rare_class_from_taking_half_of_a_large_one():
    """Both prototypes stand in the large class, as after a network that cut it in two."""
    f, y = rows([950, 50], m=2)
    U = means(f, (f[:, 0] < f[:950, 0].mean()).long(), 2)
    given = torch.cdist(f, U).argmin(1), torch.zeros(1000, 2), 0.0
    before = torch.zeros(2), torch.tensor([1900.0, 100.0])
    free, bound = (assign_by_shares(f, U, *given, last)[0] for last in before)
    assert (free[y == 0] == 1).float().mean() > 0.2
    assert (bound[y == 0] == 1).float().mean() < 0.05


def test_prototypes_in_one_place_and_empty_classes_break_nothing():
    f, y = rows([40, 40, 40])
    U = means(f, y)
    U[2] = U[1]
    rest = torch.zeros(120, C), 0.5, torch.zeros(C)
    for at, labels in ((U, torch.zeros_like(y)), (0 * U, y)):
        found, share = assign_by_shares(f, at, labels, *rest)
        assert found.min() >= 0 and found.max() < C and share.isfinite().all()


# Running scale


def test_units_are_means_of_the_spread_and_of_that_inside_the_classes():
    """Spread 5 in all and 1.25 inside the classes: half as large a unit as where all is inside."""
    X = torch.tensor([[-5.0, -5], [5, 5]]).repeat(20, 1)
    units = units_of(X, X[:10], torch.tensor([[1.25, 5.0]]))
    assert (units.scale[0, 1] / units.scale[0, 0]).item() == pytest.approx(2)
    assert units.scale.prod().item() == pytest.approx(25)  # one factor for all
    assert units.mean.abs().max() < 1e-5
    rows = Rows(torch.tensor([[1.0, 0], [3, 0], [9, 0]]), torch.tensor([0, 0, 1]))
    assert repaired.spread_inside(rows, 2).tolist() == [[pytest.approx(2**0.5), 0]]
    assert repaired.spread_inside(rows[1:], 2) is None  # a row a class


def test_a_segment_moves_the_scale_within_bounds():
    last = Draws(0, "last").normal(50, 2)
    units = units_of(1e6 + 1e6 * last, last, None)
    assert units.scale.max() < 11 and units.mean.abs().max() < 11


def test_a_network_is_the_same_function_in_any_units():
    x = Draws(0, "x").normal(20, 2)
    units, of = Scaler(torch.tensor([[3.0, -1]]), torch.tensor([[5.0, 0.2]])), learner(2, 7, 3)
    before = of.probabilities(x)
    repaired.express(units, of.theta)
    torch.testing.assert_close(of.probabilities(units(x)), before)
    repaired.express(units, of.theta, back=True)
    torch.testing.assert_close(of.probabilities(x), before)


def test_gold_that_no_longer_holds_weighs_nothing():
    """Classes that changed places: replay ends at the same parameters whatever gold says."""
    gold, kept, now = two_classes(40, "gold"), two_classes(40, "kept", 1), two_classes(60, "now", 1)
    ends = []
    for y in (gold.y, torch.zeros_like(gold.y)):
        of = learner(2, 8, 2)
        before = of.copy()
        given = step(Rows(gold.X, y), kept, now.X, theta=before)
        trust = {"overlap": 0, "agreement": 900}  # agreement is 0 for the first, whatever it is for
        how = component("replay", "repaired", trust=trust, fit={"steps": 20})
        how.replay(given, Pseudo(now.y, now), of)
        ends.append(of.theta)
    assert all(map(torch.equal, *ends))
    assert not torch.equal(ends[0][0], before[0])
