"""Algorithm 1 against a slow NumPy version in float64; what each reading changes; swaps."""

import numpy as np
import pytest
import support
import torch
from made_steps import learner, step

from sdsl.config.schema import component
from sdsl.core.draws import Draws
from sdsl.core.metrics import swap_steps
from sdsl.core.rows import Rows
from sdsl.labelers.robust import class_means, prototypes

C, M = 3, 5


def moved(drift=0.8):
    """A step with three overlapping classes that have moved since gold."""
    draws, turn = Draws(3, "rows"), 2 * torch.pi * torch.arange(30) / C

    def rows(n: int, angle: float) -> Rows:
        centre = torch.stack([(turn[:n] + angle).cos(), (turn[:n] + angle).sin()], 1)
        return Rows(2 * centre + draws.normal(n, 2), torch.arange(n) % C)

    return step(rows(12, 0), rows(6, drift / 2), rows(24, drift).X)


def labeler(ils="project", union=True, **settings):
    """With full batches, no noise and a warm start, so that nothing is random."""
    plain = {"batch": 0, "lr": 0.3, "union": union}
    first = {"until": "steps", "steps": 4, "consistency": 0.0}
    phases = {"fit": plain | first, "feedback": plain | {"steps": 3}}
    changes = {"semantics": 0.6, "origin": "previous", "rounds": 10, "energy": 0.8}
    return component("labeler", "robust", ils=ils, **phases | changes | settings)


def slow_soft_prototypes(f, logits):
    p = support.softmax(logits)
    return np.array([sum(p[i, c] * f[i] for i in range(len(f))) / p[:, c].sum() for c in range(C)])


def slow_assign(f, U):
    def cosine(x, u):
        return x @ u / np.linalg.norm(x) / np.linalg.norm(u)

    return np.array([np.argmin([1 - cosine(x, u) for u in U]) for x in f])


def slow_prototypes(f, y, previous):
    return np.array([f[y == c].mean(0) if (y == c).any() else previous[c] for c in range(C)])


class SlowSemantics:
    """The closed form with prototypes as columns, U [m, C], as the paper writes them."""

    def __init__(self, ils: str, energy: float, first: np.ndarray, now: np.ndarray):
        """first, now: gold's prototypes when it was fitted, and in the encoder of this step."""
        self.ils = ils
        if ils == "gram":
            _, values, Q = np.linalg.svd(now, full_matrices=False)
            self.V = values[:, None] * Q
        else:
            values, Q = np.linalg.svd(first)[1:]
            share = np.cumsum(values**2) / np.sum(values**2)
            self.V = Q[: min(1 + int(np.sum(share < energy)), C - 1)]

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


def slow_label(how, theta, first, gold, lookback, X):
    """Algorithm 1: (labels, theta, rounds). first: theta when gold was fitted."""

    def means(theta):
        return slow_prototypes(support.mlp(gold[0], theta)[0][-1], gold[1], np.zeros((C, M))).T

    def descend(theta, loss, training, velocity):
        for _ in range(training.steps):
            grads = support.numeric_gradient(loss, theta)
            velocity = [training.momentum * v + g for v, g in zip(velocity, grads, strict=True)]
            theta = [p - training.lr * v for p, v in zip(theta, velocity, strict=True)]
        return theta, velocity

    def cross_entropy(theta, *sets):
        """Eq. 2's sum over the union, over its rows; or a mean per set."""
        losses = [support.row_losses(*rows, theta) for rows in sets]
        return np.concatenate(losses).mean() if how.fit.union else sum(x.mean() for x in losses)

    def supervised(theta):
        return cross_entropy(theta, gold, lookback)

    def total(theta):
        U = slow_prototypes(support.mlp(X, theta)[0][-1], y, np.zeros((C, M)))
        return cross_entropy(theta, gold, lookback, (X, y)) + how.semantics * ils.penalty(U.T)

    still = [np.zeros_like(p) for p in theta]
    theta, _ = descend(theta, supervised, how.fit, still)
    ils = SlowSemantics(how.ils, how.energy, means(first), means(theta))
    inputs, logits = support.mlp(X, theta)
    U, y, velocity = slow_soft_prototypes(inputs[-1], logits), logits.argmax(1), still
    for rounds in range(1, how.rounds + 1):  # noqa: B007 - used after the loop
        f = support.mlp(X, theta)[0][-1]
        U = ils.refine(U.T, how.anchor).T
        new = slow_assign(f, U)
        changed, y = np.mean(new != y), new
        U = slow_prototypes(f, y, U)
        if changed < how.tolerance:
            break
        theta, velocity = descend(theta, total, how.feedback, velocity)
    f = support.mlp(X, theta)[0][-1]
    return slow_assign(f, ils.refine(U.T, how.anchor).T), theta, rounds


def test_a_class_without_members_keeps_its_prototype():
    f, previous = torch.rand(4, M), torch.rand(C, M)
    U = prototypes(f, torch.tensor([0, 0, 2, 2]), previous)
    assert torch.equal(U[1], previous[1])
    torch.testing.assert_close(U[0], f[:2].mean(0))
    means, size = class_means(f, torch.tensor([0, 0, 2, 2]), C)
    assert size.tolist() == [2, 0, 2] and not means[1].any()


@pytest.mark.parametrize("ils", ["project", "gram", "off"])
@pytest.mark.parametrize(("rounds", "tolerance", "union"), [(1, 0.0, False), (4, 0.05, True)])
def test_a_whole_step_against_the_slow_version(ils, rounds, tolerance, union):
    now, of = moved(), learner(2, M, C)
    how = labeler(ils, union, rounds=rounds, tolerance=tolerance)
    first = support.plain(of.theta)
    how.start(now.gold, of, now.draws)
    for p in of.theta:  # the encoder has moved since gold was fitted
        p += 0.1
    before = support.plain(of.theta)
    pseudo = how.label(now, of)
    sets = [(r.X.double().numpy(), r.y.numpy()) for r in (now.gold, now.lookback)]
    y, theta, took = slow_label(how, before, first, *sets, now.X.double().numpy())
    assert pseudo.log["rounds"] == took
    assert pseudo.y.tolist() == y.tolist()
    for mine, slow in zip(of.theta, theta, strict=True):
        np.testing.assert_allclose(mine, slow, rtol=2e-3, atol=2e-4)


def test_the_readings_of_eq_7_end_at_different_parameters():
    """So the test above tells them apart."""
    ends = {}
    for ils in ("project", "gram", "off"):
        now, of = moved(), learner(2, M, C)
        how = labeler(ils, rounds=3, tolerance=0.0)
        how.start(now.gold, of, now.draws)
        log = how.label(now, of).log
        ends[ils] = of.theta[0]
        assert log["ils_active"] == (ils != "off") == ("loss_semantics" in log)
    assert (ends["project"] - ends["gram"]).abs().max() > 1e-3
    assert (ends["project"] - ends["off"]).abs().max() > 1e-3


def test_a_fresh_encoder_does_not_depend_on_the_last_step():
    found = []
    for shift in (0.0, 5.0):
        now, of = moved(), learner(2, M, C)
        how = labeler("off", origin="fresh")
        how.start(now.gold, of, now.draws)
        for p in of.theta:
            p += shift
        found.append((how.label(now, of).y, *of.theta))
    assert all(map(torch.equal, *found))


def test_two_classes_switch_the_literal_semantics_off():
    data = support.blobs(rows=120, classes=2)
    sizes = {"segment_size": 40, "test_size": 10, "data": data}
    literal = support.run("method=ours", **sizes).outcome
    assert np.array_equal(literal.R, support.run("method=ours_wo_ils", **sizes).outcome.R)
    assert not literal.curves["ils_active"].any()
    gram = support.run("method=ours", "labeler.ils=gram", **sizes).outcome
    assert gram.curves["ils_active"].all()


def test_a_swap_shows_in_the_diagnostic():
    """Two classes change places between segments 3 and 4: wrong names from then on."""
    data, size = support.blobs(rows=320, classes=2), 40
    X = data.X.copy()
    X[4 * size :] *= [-1, 1]  # the classes lie at (3, 0) and (-3, 0)
    swapped = support.table(X, data.y)
    out = support.run("method=ours", data=swapped, segment_size=size, test_size=12).outcome
    acc, relabelled = (out.curves[f"pseudo_label_acc{end}"] for end in ("", "_relabelled"))
    assert acc[:3].min() > 0.95 and acc[3:].max() < 0.05
    assert relabelled.min() > 0.95
    assert swap_steps(acc, relabelled) == 4


@pytest.mark.parametrize("drift", [0.0, 1.5])
def test_labels_follow_a_drift_and_stay_right_without_one(drift):
    """Thirty segments of three well separated classes."""
    data = support.blobs(rows=31 * 30, classes=3, spread=0.4, drift=drift)
    out = support.run("method=ours", data=data, segment_size=30, test_size=10).outcome
    assert out.curves["pseudo_label_acc"].min() > 0.9
    assert np.diag(out.R[1:]).min() > 0.9
    assert drift or out.R.min() > 0.99
