"""The network against a slow twin in NumPy, its fits against torch's autograd."""

import math

import numpy as np
import pytest
import support
import torch
import torch.nn.functional as F
from support import some_rows, training

from sdsl.core.draws import Batches, Draws
from sdsl.core.finite import NotFinite
from sdsl.core.learner import Learner
from sdsl.core.network import arrays, forward, graph, layer_sizes, trace
from sdsl.core.rows import Rows

N, SIZES = 9, (4, 6, 5, 3)


def new(sizes=SIZES) -> Learner:
    return Learner(sizes, Draws(3, "init"))


def close(found, expected, rtol=1e-4) -> None:
    torch.testing.assert_close(found, expected, rtol=rtol, atol=rtol / 10, check_dtype=False)


@pytest.mark.parametrize("n", [0, 1, N, 300], ids=lambda n: f"{n} rows")
def test_outputs_of_any_number_of_rows(n):
    """300 rows are more than pass through the layers at a time."""
    x, theta = some_rows(n, 4).X, new().theta
    inputs, logits = support.mlp(x.numpy(), support.plain(theta))
    close(forward(x, theta), (torch.from_numpy(inputs[-1]), torch.from_numpy(logits)))
    close(graph(x, theta), torch.from_numpy(logits))
    close(trace(x, theta)[0], [torch.from_numpy(h) for h in inputs])


def slow_fit(learner, how, sets, weights, draws, unlabelled):
    """(student, teacher, last cross-entropy) by autograd and torch's optimizers, in float64."""
    if how.consistency:
        sets, weights = [*sets, Rows.unlabelled(unlabelled)], [*weights, 0.0]
    batches, noise = Batches(sets, weights, how.steps, how.batch, draws), torch.zeros(99, 2, 1, 1)
    if how.consistency and how.noise:
        noise = how.noise * torch.cat(list(draws.normals(how.steps, 2, *batches.shape)))
    student = [p.double().requires_grad_() for p in learner.theta]
    teacher = [p.double() for p in learner.teacher]
    optimizer = torch.optim.Adam(student)
    if how.optimizer == "sgd":
        optimizer = torch.optim.SGD(student, momentum=how.momentum)
    for k, (x, y, w) in enumerate(batches):
        logits = graph(x + noise[k, 0].double(), student)
        target = graph(x + noise[k, 1].double(), teacher).softmax(1)
        ce = (w * F.cross_entropy(logits, y, reduction="none")).sum()
        p = (k + 1) / (0.3 * how.steps)
        pull = how.consistency * (math.exp(-5 * max(0, 1 - p) ** 2) if how.ramp else 1)
        optimizer.param_groups[0]["lr"] = how.lr * (1 - k / how.steps if how.decay else 1)
        optimizer.zero_grad()
        (ce + pull * (logits.softmax(1) - target).square().mean()).backward()
        optimizer.step()
        a = min(1 - 1 / (k + 1), how.ema) if pull else 1
        teacher = [a * q + (1 - a) * p.detach() for p, q in zip(student, teacher, strict=True)]
    return [p.detach() for p in student], teacher, float(ce.detach())


MEAN_TEACHER = {"consistency": 2.0, "noise": 0.3, "ema": 0.7}


@pytest.mark.parametrize(("sizes", "changes"), [
    (SIZES, {"batch": 0, "momentum": 0.0}), (SIZES, {"batch": 0, "optimizer": "adam"}),
    (SIZES, {"batch": 4, "decay": True}), (SIZES, {"batch": 4, "optimizer": "adam", "decay": True}),
    (SIZES, {"batch": 0, **MEAN_TEACHER}),
    (SIZES, {"batch": 0, **MEAN_TEACHER, "noise": 0.0, "ramp": False}),
    (SIZES, {"batch": 4, **MEAN_TEACHER}), ((4, 3), {"batch": 0}),
    ((40, 7, 3), {"batch": 0}),  # fewer rows than features: in the span of the rows
    ((40, 6, 5, 3), {"batch": 0, "decay": True}), ((40, 7, 3), {"batch": 0, "optimizer": "adam"}),
])  # fmt: skip
def test_a_fit_takes_the_steps_of_its_definition(sizes, changes, monkeypatch):
    """Two labelled sets of different sizes, weighted; an empty one; rows without labels."""
    how = training(**{"steps": 30, "lr": 0.05, "union": False} | changes)
    monkeypatch.setattr("sdsl.core.draws.AT_ONCE", 512 if how.batch else 1)  # noise of some steps
    sets = [some_rows(N, sizes[0]), some_rows(5, sizes[0], seed=1), Rows.empty(sizes[0])]
    weights, X, learner = [1.0, 0.25, 3.0], some_rows(6, sizes[0], seed=2).X, new(sizes)
    student, teacher, loss = slow_fit(learner, how, sets, weights, Draws(3, "fit"), X)
    taken = learner.fit(how, sets, Draws(3, "fit"), weights, X)
    assert taken == pytest.approx((loss, 30), rel=1e-4)
    close([learner.theta, learner.teacher], [student, teacher], 1e-3)


@pytest.mark.parametrize("batch", [0, 4])
def test_a_fit_on_no_rows_changes_nothing(batch):
    learner, before = new(), new().theta
    for steps, n, weight in ((9, 0, 1.0), (0, N, 1.0), (9, N, 0.0)):
        sets = [some_rows(n, 4)]
        how = training(batch=batch, steps=steps, union=False)
        learner.fit(how, sets, Draws(3, "fit"), [weight])
        assert all(map(torch.equal, learner.theta, before))


def test_a_new_network_is_uniform_in_one_over_root_fan_in_and_a_reset_draws_on():
    sizes = layer_sizes(25, [400, 0], 3)
    assert sizes == (25, 400, 42, 3)  # 0 stands for RECORD's rule: int(1.5 (25 + 3))
    learner, other = new(sizes), Learner(sizes, Draws(8, "init"))
    first, views = learner.copy(), arrays(learner.theta)
    assert 0.99 / 5 < first[0].abs().max() <= 1 / 5 and first[1].abs().max() <= 1 / 20
    assert all(map(torch.equal, first, learner.teacher))
    learner.load([p + 1 for p in first])
    np.testing.assert_array_equal(views[0], first[0] + 1)  # in place
    other.restore(learner.state())
    for one in (learner, other):
        one.reset()
    assert all(map(torch.equal, learner.theta, other.theta))
    assert not torch.equal(learner.theta[0], first[0])


def test_predictions():
    learner, x = new(), some_rows(N, 4).X
    expected = support.softmax(support.mlp(x.numpy(), support.plain(learner.theta))[1])
    close(learner.probabilities(x), torch.from_numpy(expected))
    assert learner.predict(x).tolist() == expected.argmax(1).tolist()
    learner.theta[-1][0, 0] = torch.nan
    with pytest.raises(NotFinite, match="NaN"):
        learner.predict(x)
    learner.classifier = lambda x: torch.full((len(x),), 2)  # then the network is not asked
    assert learner.predict(x).tolist() == [2] * N
