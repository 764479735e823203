"""Robust pseudo-labels: every step against a slow NumPy version, swaps, calm streams, fusing."""

from dataclasses import replace

import numpy as np
import pytest
import support
import torch

from sdsl.core.contract import Step
from sdsl.core.learner import Learner
from sdsl.core.metrics import lasting_swap
from sdsl.core.network import forward
from sdsl.core.replica import Draws, Rows
from sdsl.labelers.robust import Robust, assign, prototypes, soft_prototypes

SEEDS, C, M = (3, 4), 3, 5


def step(seeds=SEEDS, drift=0.8, lookback=6) -> Step:
    """Three overlapping classes that have moved since gold; every replica has rows of its own."""
    draws = Draws(seeds, "rows")
    S, turn = len(seeds), 2 * torch.pi * torch.arange(30) / C

    def rows(n: int, angle: float) -> Rows:
        y = (torch.arange(n) % C).expand(S, n)
        centre = torch.stack([(turn[:n] + angle).cos(), (turn[:n] + angle).sin()], 1)
        return Rows.full(2 * centre + draws.normal(n, 2), y)

    gold, kept, new = rows(12, 0), rows(lookback, drift / 2), rows(24, drift)
    return Step(2, gold, kept, new.X, [], Draws(seeds, "batches"))


def labeler(ils="project", **settings) -> Robust:
    """Full batches and no noise, so that nothing is random."""
    plain = {"batch": 0, "lr": 0.3, "consistency": 0.0}
    changes = {
        "fit": {"steps": 4} | plain,
        "feedback": {"steps": 3} | plain,
        "gold": 0.7,
        "lookback": 0.8,
        "pseudo": 0.9,
        "semantics": 0.6,
        "rounds": 10,
        "energy": 0.95,
        "origin": "previous",
        "trust": {"overlap": 0, "agreement": 0},
        "shares": "equal",
    }
    return support.component("labeler", "robust", ils=ils, **changes | settings)


# The equations, one replica at a time


def slow_soft_prototypes(f, logits):
    p = support.softmax(logits)
    return np.array([sum(p[i, c] * f[i] for i in range(len(f))) / p[:, c].sum() for c in range(C)])


def slow_assign(f, U, center):
    origin = {"prototypes": U.mean(0), "segment": f.mean(0), "origin": 0 * f[0]}[center]

    def distance(x, u):
        return 1 - (x - origin) @ (u - origin) / np.linalg.norm(x - origin) / np.linalg.norm(
            u - origin
        )

    return np.array([np.argmin([distance(x, u) for u in U]) for x in f])


def slow_prototypes(f, y, previous):
    return np.array([f[y == c].mean(0) if (y == c).any() else previous[c] for c in range(C)])


class SlowSemantics:
    """The closed form with prototypes as columns, U [m, C], as the paper writes them."""

    def __init__(self, ils: str, energy: float):
        self.ils, self.energy = ils, energy

    def start(self, U0):
        values, Q = np.linalg.svd(U0)[1:]
        share = np.cumsum(values**2) / np.sum(values**2)
        r = min(1 + int(np.sum(share < self.energy)), C - 1)
        self.V = Q[:r]  # [r, C]

    def update(self, U0):
        if self.ils == "gram":
            _, values, Q = np.linalg.svd(U0, full_matrices=False)
            self.V = values[:, None] * Q

    def fitted(self, U):
        """H^T V at the best H."""
        if self.ils == "gram":
            A, _, B = np.linalg.svd(U @ self.V.T, full_matrices=False)
            return A @ B @ self.V
        return U @ np.linalg.pinv(self.V) @ self.V

    def refine(self, E, anchor):
        return E if self.ils == "off" else (E + anchor * self.fitted(E)) / (1 + anchor)

    def penalty(self, U):
        return 0.0 if self.ils == "off" else np.sum((U - self.fitted(U)) ** 2) / U.size


def slow_label(how: Robust, theta, first, gold, lookback, X):
    """Algorithm 1 for one replica: (labels, theta, rounds). first: theta when gold was fitted."""

    def means(theta):
        return slow_prototypes(support.mlp(gold[0], theta)[0][-1], gold[1], np.zeros((C, M)))

    def descend(theta, loss, training, velocity):
        for _ in range(training.steps):
            grads = support.numeric_gradient(loss, theta)
            velocity = [training.momentum * v + g for v, g in zip(velocity, grads, strict=True)]
            theta = [p - training.lr * v for p, v in zip(theta, velocity, strict=True)]
        return theta, velocity

    def supervised(theta):
        return (
            how.gold * support.row_losses(*gold, theta).mean()
            + how.lookback * support.row_losses(*lookback, theta).mean()
        )

    def total(theta):
        U = slow_prototypes(support.mlp(X, theta)[0][-1], y, np.zeros((C, M)))
        pseudo = support.row_losses(X, y, theta).mean()
        return supervised(theta) + how.pseudo * pseudo + how.semantics * ils.penalty(U.T)

    ils = SlowSemantics(how.ils, how.energy)
    ils.start(means(first).T)
    still = [np.zeros_like(p) for p in theta]
    theta, _ = descend(theta, supervised, how.fit, still)
    ils.update(means(theta).T)
    inputs, logits = support.mlp(X, theta)
    U, y, velocity = slow_soft_prototypes(inputs[-1], logits), logits.argmax(1), still
    for rounds in range(1, how.rounds + 1):  # noqa: B007 - used after the loop
        f = support.mlp(X, theta)[0][-1]
        U = ils.refine(U.T, how.anchor).T
        new = slow_assign(f, U, how.center)
        changed, y = np.mean(new != y), new
        U = slow_prototypes(f, y, U)
        if changed < how.tolerance:
            break
        theta, velocity = descend(theta, total, how.feedback, velocity)
    f = support.mlp(X, theta)[0][-1]
    return slow_assign(f, ils.refine(U.T, how.anchor).T, how.center), theta, rounds


@pytest.mark.parametrize("center", ["prototypes", "segment", "origin"])
def test_prototypes_and_assignment_against_loops(center):
    g = torch.Generator().manual_seed(0)
    f, logits = torch.rand(2, 20, M, generator=g), torch.randn(2, 20, C, generator=g)
    U = soft_prototypes(f, logits)
    y = assign(f, U, center)
    hard = prototypes(f, y, U)
    for s in range(2):
        fs = f[s].double().numpy()
        slow = slow_soft_prototypes(fs, logits[s].double().numpy())
        np.testing.assert_allclose(U[s], slow, rtol=1e-5)
        assert np.array_equal(y[s], slow_assign(fs, slow, center))
        np.testing.assert_allclose(hard[s], slow_prototypes(fs, y[s].numpy(), slow), rtol=1e-5)


def test_a_class_without_members_keeps_its_prototype():
    f, previous = torch.rand(1, 4, M), torch.rand(1, C, M)
    U = prototypes(f, torch.tensor([[0, 0, 2, 2]]), previous)
    assert torch.equal(U[0, 1], previous[0, 1])
    torch.testing.assert_close(U[0, 0], f[0, :2].mean(0))


def test_assignment_is_by_angle_around_the_mean_prototype():
    """By hand: from the origin all rows look one way, between the prototypes they do not."""
    f = torch.tensor([[[10.0, 1], [11, 1], [10, -1], [11, -1]]])
    U = torch.tensor([[[10.5, 1.0], [10.5, -1.0]]])
    assert assign(f, U, "prototypes").tolist() == [[0, 0, 1, 1]]
    assert assign(f, U.flip(1), "prototypes").tolist() == [[1, 1, 0, 0]]
    assert assign(f, 3 * U, "origin").tolist() == [[0, 0, 1, 1]]


def test_class_sizes_do_not_move_the_border():
    """Nine rows at 0, one at 4, one at 1.5: around the segment's mean the last changes sides."""
    f = torch.tensor([[[x, 0.0] for x in (0,) * 9 + (4, 1.5)]])
    U = torch.tensor([[[0.0, 0], [4, 0]]])
    assert assign(f, U, "prototypes").tolist() == [[0] * 9 + [1, 0]]
    assert assign(f, U, "segment").tolist() == [[0] * 9 + [1, 1]]


@pytest.mark.parametrize("ils", ["project", "gram", "off"])
@pytest.mark.parametrize(
    ("rounds", "tolerance", "center"), [(1, 0.0, "prototypes"), (4, 0.05, "origin")]
)
def test_a_whole_step_against_the_slow_version(ils, rounds, tolerance, center):
    now, learner = step(), Learner((2, M, C), SEEDS)
    how = labeler(ils, rounds=rounds, tolerance=tolerance, center=center, energy=0.8)
    first = [support.plain(learner.theta, s) for s in range(2)]
    how.start(now.gold, learner, now.draws)
    with torch.no_grad():  # the encoder has moved since gold was fitted
        for p in learner.theta:
            p += 0.1
    before = [support.plain(learner.theta, s) for s in range(2)]
    pseudo = how.label(now, learner)
    for s in range(2):
        sets = [(r.X[s].double().numpy(), r.y[s].numpy()) for r in (now.gold, now.lookback)]
        X = now.X[s].double().numpy()
        y, theta, took = slow_label(how, before[s], first[s], *sets, X)
        assert pseudo.log["rounds"][s] == took
        assert pseudo.y[s].tolist() == y.tolist()
        for mine, slow in zip(learner.theta, theta, strict=True):
            np.testing.assert_allclose(mine[s].detach(), slow, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("lookback", [6, 0])
def test_terms_of_the_loss_are_logged_each_with_its_weight(lookback):
    now, learner = step(lookback=lookback), Learner((2, M, C), SEEDS)
    how = labeler(rounds=1, tolerance=0.0)
    how.fit.steps = how.feedback.lr = 0  # nothing moves
    how.start(now.gold, learner, now.draws)
    log = how.label(now, learner).log
    f, logits = forward(now.X, learner.copy())
    U = how.label_semantics.refine(soft_prototypes(f, logits), how.anchor)
    new = Rows.full(now.X, assign(f, U, how.center))  # the one round's labels
    for s in range(2):
        theta = support.plain(learner.theta, s)
        for name, rows, weight in (
            ("loss_gold", now.gold, how.gold),
            ("loss_lookback", now.lookback, how.lookback),
            ("loss_pseudo", new, how.pseudo),
        ):
            losses = support.row_losses(rows.X[s].numpy(), rows.y[s].numpy(), theta)
            expected = weight * losses.mean() if len(losses) else 0.0
            assert float(log[name][s]) == pytest.approx(expected, rel=1e-4)


def test_a_fresh_encoder_owes_nothing_to_the_last_step():
    """Algorithm 1 starts from random parameters: what the learner held before has no say."""
    found = []
    for moved in (0.0, 5.0):
        now, learner = step(), Learner((2, M, C), SEEDS)
        how = labeler("off", origin="fresh")
        how.start(now.gold, learner, now.draws)
        with torch.no_grad():
            for p in learner.theta:
                p += moved
        found.append((how.label(now, learner).y, learner.copy()))
    (y, theta), (y_moved, theta_moved) = found
    assert torch.equal(y, y_moved)
    assert all(torch.equal(p, q) for p, q in zip(theta, theta_moved, strict=True))


def test_what_gold_loses_in_trust_the_lookback_gains():
    """Classes that changed places: labels and parameters as if gold weighed nothing."""
    found = []
    for power, weights in ((1, (0.7, 0.8)), (0, (0.0, 0.7 + 0.8))):
        now, learner = step(drift=0.0), Learner((2, M, C), SEEDS)
        gold = Rows(now.gold.X, (now.gold.y + 1) % C, now.gold.count)
        how = labeler("off", trust={"overlap": 2 * power, "agreement": power})
        how.gold, how.lookback = weights
        swapped = replace(now, gold=gold)
        how.start(gold, learner, swapped.draws)
        pseudo = how.label(swapped, learner)
        assert pseudo.log["gold_trust"].tolist() == [1 - power] * 2
        found.append((pseudo.y, learner.copy()))
    (y, theta), (y_full, theta_full) = found
    assert torch.equal(y, y_full)
    for p, q in zip(theta, theta_full, strict=True):
        torch.testing.assert_close(p, q)


def test_semantics_matter():
    """The three readings end at different parameters, so the test above tells them apart."""
    ends = {}
    for ils in ("project", "gram", "off"):
        now, learner = step(), Learner((2, M, C), SEEDS)
        how = labeler(ils, rounds=3, tolerance=0.0, energy=0.8)
        how.start(now.gold, learner, now.draws)
        log = how.label(now, learner).log
        ends[ils] = learner.theta[0].detach()
        assert log["ils_active"].tolist() == [float(ils != "off")] * 2
        assert ("loss_semantics" in log) == (ils != "off")
    assert (ends["project"] - ends["gram"]).abs().max() > 1e-3
    assert (ends["project"] - ends["off"]).abs().max() > 1e-3


def test_two_classes_switch_the_literal_semantics_off():
    data = support.blobs(rows=120, classes=2)
    sizes = {"segment_size": 40, "test_size": 10, "data": data, "seeds": (10,)}
    literal = support.run("method=ours", **sizes).outcome
    off = support.run("method=ours_wo_ils", **sizes).outcome
    assert np.array_equal(literal.R, off.R)
    assert not literal.curves["ils_active"].any()


def test_labels_follow_a_drift():
    data = support.blobs(rows=600, classes=3, drift=2.0)
    sizes = {"segment_size": 60, "test_size": 20, "data": data}
    out = support.run("method=ours", "labeler.fit.steps=30", seeds=(10, 11), **sizes).outcome
    assert out.curves["pseudo_label_acc"].min() > 0.9


def test_a_swap_shows_in_the_diagnostic():
    """Two classes change places between segments 3 and 4: wrong names from then on."""
    data, size = support.blobs(rows=320, classes=2), 40
    X = data.X.copy()
    X[4 * size :] *= [-1, 1]  # the classes lie at (3, 0) and (-3, 0)
    sizes = {"segment_size": size, "test_size": 12}
    out = support.run("method=ours", data=support.table(X, data.y), seeds=(10, 11), **sizes).outcome
    acc, relabelled = (
        out.curves[name] for name in ("pseudo_label_acc", "pseudo_label_acc_relabelled")
    )
    assert acc[:, :3].min() > 0.95
    assert acc[:, 3:].max() < 0.05
    assert relabelled.min() > 0.95
    assert [lasting_swap(a, r) for a, r in zip(acc, relabelled, strict=True)] == [4, 4]


def test_nothing_degrades_on_a_calm_stream():
    """Fifty segments, well separated, without drift."""
    data = support.blobs(rows=51 * 30, classes=3, spread=0.4)
    short = ["labeler.fit.steps=20", "replay.steps=20", "labeler.feedback.steps=3"]
    sizes = {"segment_size": 30, "test_size": 10, "data": data, "seeds": (10, 11)}
    out = support.run("method=ours", *short, **sizes).outcome
    assert out.R.shape == (2, 51, 50)
    assert out.R.min() > 0.99
    assert out.curves["pseudo_label_acc"].min() > 0.99


def test_a_replica_that_converges_early_is_the_same_alone_and_fused():
    seeds = (0, 1, 2, 3, 4, 5)
    # Without the fit the labels have far to go, and replicas differ in how far.
    how = labeler(rounds=6, tolerance=0.001)
    how.fit.steps = 0

    def run(seeds):
        now, learner = step(seeds), Learner((2, M, C), seeds)
        how.start(now.gold, learner, now.draws)
        return how.label(now, learner), learner

    fused, together = run(seeds)
    assert len(set(fused.log["rounds"].tolist())) > 1
    for s, seed in enumerate(seeds):
        alone, single = run((seed,))
        assert torch.equal(fused.y[s], alone.y[0])
        assert fused.log.keys() == alone.log.keys()
        for name, value in alone.log.items():
            assert torch.equal(fused.log[name][s], value[0]), name
        for p, q in zip(together.theta, single.theta, strict=True):
            assert torch.equal(p[s], q[0])
