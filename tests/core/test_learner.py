"""The learner: hand-written gradients, its optimizers against torch's, the mean teacher's EMA."""

import math

import numpy as np
import pytest
import support
import torch
from support import training

from sdsl.core import kernel
from sdsl.core.learner import Learner
from sdsl.core.network import (
    affine,
    backward,
    cross_entropy,
    cross_entropy_slope,
    forward,
    gradients,
    graph,
    trace,
)
from sdsl.core.replica import Draws, Rows
from sdsl.core.training import Training

S, N, SIZES = 2, 9, (4, 6, 5, 3)


@pytest.fixture
def batch():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(S, N, SIZES[0], generator=g)
    return x, torch.randint(0, SIZES[-1], (S, N), generator=g), torch.rand(S, N, generator=g)


@pytest.fixture
def learner() -> Learner:
    return Learner(SIZES, [3, 4])


def test_forward_is_an_mlp_with_its_bias_in_the_last_row(learner, batch):
    x = batch[0]
    features, logits = forward(x, learner.theta)
    for s in range(S):
        h = x[s]
        for layer in learner.theta[:-1]:
            h = (h @ layer[s, :-1] + layer[s, -1]).relu()
        torch.testing.assert_close(features[s], h)
        torch.testing.assert_close(
            logits[s], h @ learner.theta[-1][s, :-1] + learner.theta[-1][s, -1]
        )


def test_what_can_be_differentiated_is_the_same_network(learner, batch):
    torch.testing.assert_close(graph(batch[0], learner.theta), forward(batch[0], learner.theta)[1])


def test_more_rows_than_fit_into_the_cache_at_once(learner):
    x = torch.randn(S, 300, SIZES[0], generator=torch.Generator().manual_seed(5))
    features, logits = forward(x, learner.theta)
    for n in (0, 1, 299):
        one = forward(x[:, n : n + 1], learner.theta)
        torch.testing.assert_close(one[0], features[:, n : n + 1])
        torch.testing.assert_close(one[1], logits[:, n : n + 1])


def test_cross_entropy_is_torchs(learner, batch):
    x, y, w = batch
    logits = forward(x, learner.theta)[1]
    rows = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none")
    expected = (rows.view(S, N) * w).sum(1)
    torch.testing.assert_close(cross_entropy(logits, y, w), expected)


def test_gradient_by_hand_is_autograds(learner, batch):
    x, y, w = batch
    expected = gradients(cross_entropy(graph(x, learner.theta), y, w), learner.theta)
    with torch.no_grad():
        inputs, logits = trace(x, learner.theta)
        grads = backward(inputs, cross_entropy_slope(logits, y, w), learner.theta)
    torch.testing.assert_close(grads, list(expected))


def test_gradient_by_hand_is_that_of_finite_differences(learner, batch):
    x, y, w = batch
    with torch.no_grad():
        inputs, logits = trace(x, learner.theta)
        grads = backward(inputs, cross_entropy_slope(logits, y, w), learner.theta)
    for s in range(S):
        numeric = support.numeric_gradient(
            lambda theta, s=s: w[s].numpy() @ support.row_losses(x[s], y[s], theta),
            support.plain(learner.theta, s),
        )
        for mine, slow in zip(grads, numeric, strict=True):
            np.testing.assert_allclose(mine[s], slow, rtol=1e-4, atol=1e-6)


def test_gradient_through_the_features(learner, batch):
    """A loss on logits and features at once, as the label semantics add it."""
    x, y, w = batch
    pull = torch.randn(S, N, SIZES[-2], generator=torch.Generator().manual_seed(1))
    f = x
    for layer in learner.theta[:-1]:
        f = affine(f, layer).relu()
    logits = affine(f, learner.theta[-1])
    loss = cross_entropy(logits, y, w) + (f * pull).sum((1, 2))
    expected = gradients(loss, learner.theta)
    with torch.no_grad():
        inputs, logits = trace(x, learner.theta)
        grads = backward(inputs, cross_entropy_slope(logits, y, w), learner.theta, pull)
    torch.testing.assert_close(grads, list(expected))


def test_slope_of_the_mean_teacher_loss_is_autograds():
    logits = torch.randn(S, N, 3, generator=torch.Generator().manual_seed(2)).requires_grad_()
    target = torch.rand(S, N, 3, generator=torch.Generator().manual_seed(3)).softmax(2)
    y, w = torch.arange(N).expand(S, N) % 3, torch.rand(S, N)
    gap = (logits.softmax(2) - target).square().mean((1, 2))
    loss = cross_entropy(logits, y, w) + 0.7 * gap
    expected = torch.autograd.grad(loss.sum(), logits)[0]
    for s in range(S):
        found = logits[s].detach().clone()
        kernel.mean_teacher_slope(found.numpy(), *(a[s].numpy() for a in (y, w, target)), 0.7)
        torch.testing.assert_close(found, expected[s])


@pytest.mark.parametrize("decay", [False, True], ids=["constant", "falling"])
@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_optimizer_is_torchs(name, decay):
    steps = 6
    ours = [torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(k)) for k in range(2)]
    theirs = [p.clone().requires_grad_() for p in ours]
    how = training(steps=steps, optimizer=name, lr=0.03, momentum=0.8, decay=decay)
    optimizer = how.optimize(ours)
    reference = (
        torch.optim.SGD(theirs, lr=0.03, momentum=0.8)
        if name == "sgd"
        else torch.optim.Adam(theirs, lr=0.03)
    )
    share = (lambda k: 1 - k / steps) if decay else (lambda k: 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(reference, share)
    for k in range(steps):
        grads = [torch.randn(p.shape, generator=torch.Generator().manual_seed(k)) for p in ours]
        optimizer.step(grads, how.rate(k))
        for p, g in zip(theirs, grads, strict=True):
            p.grad = g.clone()
        reference.step()
        schedule.step()
    torch.testing.assert_close(ours, [p.detach() for p in theirs])


def test_initialisation_is_uniform_in_one_over_root_fan_in_and_goes_on_at_a_reset():
    learner = Learner((25, 400, 2), [0])
    first = learner.copy()
    assert first[0].abs().max() <= 1 / 5
    assert first[0].abs().max() > 0.99 / 5
    assert first[1].abs().max() <= 1 / 20
    learner.reset()
    assert not torch.equal(first[0], learner.theta[0])
    again = Learner((25, 400, 2), [0])
    again.reset()
    assert torch.equal(again.theta[0], learner.theta[0])


def test_fit_is_plain_descent_on_the_mean_loss_of_every_set(learner, batch):
    x, y, _ = batch
    gold, other = Rows.full(x[:, :4], y[:, :4]), Rows.full(x[:, 4:], y[:, 4:])
    how = training(steps=3, batch=0, lr=0.1, momentum=0.0)
    theta = [p.detach().clone().requires_grad_() for p in learner.theta]
    for _ in range(3):
        logits = graph(x, theta)
        rows = -logits.log_softmax(2).gather(2, y[:, :, None]).squeeze(2)
        loss = rows[:, :4].mean(1) + 0.25 * rows[:, 4:].mean(1)
        grads = gradients(loss, theta)
        theta = [(p - 0.1 * g).detach().requires_grad_() for p, g in zip(theta, grads, strict=True)]
    last = learner.fit(how, [gold, other], Draws([3, 4], "fit"), weights=[1.0, 0.25])
    torch.testing.assert_close([p.detach() for p in learner.theta], [p.detach() for p in theta])
    torch.testing.assert_close(last, loss.detach())


def mean_teacher_by_autograd(learner: Learner, rows: Rows, X, how: Training):
    """Student and teacher after a noiseless full-batch fit, written from the docstring."""
    student = [p.detach().clone().requires_grad_() for p in learner.theta]
    teacher = [p.clone() for p in learner.teacher]
    n = rows.X.shape[1]
    for k in range(how.steps):
        ramp = math.exp(-5 * (1 - min(1, (k + 1) / (0.3 * how.steps))) ** 2)
        logits = graph(torch.cat([rows.X, X], 1), student)
        target = forward(torch.cat([rows.X, X], 1), teacher)[1].softmax(2)
        log_p = logits[:, :n].log_softmax(2).gather(2, rows.y[:, :, None]).squeeze(2)
        gap = (logits.softmax(2) - target).square().mean((1, 2))
        grads = gradients(-log_p.mean(1) + how.consistency * ramp * gap, student)
        with torch.no_grad():
            student = [
                (p - how.lr * g).requires_grad_() for p, g in zip(student, grads, strict=True)
            ]
            alpha = min(1 - 1 / (k + 1), how.ema)
            teacher = [alpha * q + (1 - alpha) * p for p, q in zip(student, teacher, strict=True)]
    return [p.detach() for p in student], [p.detach() for p in teacher]


@pytest.mark.parametrize("decay", [False, True], ids=["constant", "falling"])
@pytest.mark.parametrize("hidden", [(), (7,), (6, 5)])
@pytest.mark.parametrize("d", [4, 40], ids=["many rows", "fewer rows than features"])
def test_a_full_batch_takes_the_steps_of_plain_descent(d, hidden, decay):
    """Also where few rows are taken in their span."""
    g = torch.Generator().manual_seed(1)
    x, y = torch.randn(S, N, d, generator=g), torch.randint(0, 3, (S, N), generator=g)
    rows = Rows(x, y, torch.tensor([N, N - 3]))  # one replica ends in padding
    how = training(steps=30, batch=0, lr=0.05, decay=decay)
    learner, plain = (Learner((d, *hidden, 3), [3, 4]) for _ in range(2))
    loss = learner.fit(how, [rows], Draws([3, 4], "batches"))
    optimizer = how.optimize(plain.theta)
    w = rows.mask / rows.count[:, None]
    for k in range(how.steps):
        expected = cross_entropy(graph(x, plain.theta), y, w)
        optimizer.step(gradients(expected, plain.theta), how.rate(k))
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-4, atol=1e-5)
    for a, b in zip(learner.theta, plain.theta, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("n", "sizes"),
    [
        (33, (90, 139, 3)),  # fewer rows than features
        (100, (2, 6, 2)),  # RECORD's, on four of the eight
        (100, (20, 33, 2)),
        (100, (36, 63, 6)),
        (100, (64, 111, 10)),
        (97, (5, 11, 7, 3)),
    ],
)
def test_a_full_batch_has_the_same_bits_fused(n, sizes):
    g = torch.Generator().manual_seed(1)
    x = torch.randn(5, n, sizes[0], generator=g)
    y = torch.randint(0, sizes[-1], (5, n), generator=g)

    def fit(seeds: list[int]) -> list[torch.Tensor]:
        learner = Learner(sizes, seeds)
        learner.fit(training(steps=20, batch=0), [Rows.full(x[seeds], y[seeds])], Draws(seeds, "b"))
        return learner.theta

    fused = fit([0, 1, 2, 3, 4])
    for s in range(5):
        for a, b in zip(fused, fit([s]), strict=True):
            assert torch.equal(a[s], b[0])


def test_mean_teacher_fit_against_autograd(learner, batch):
    x, y, _ = batch
    rows, X = Rows.full(x[:, :5], y[:, :5]), x[:, 5:]
    how = training(steps=8, batch=0, lr=0.3, momentum=0.0, consistency=2.0, noise=0.0, ema=0.7)
    student, teacher = mean_teacher_by_autograd(learner, rows, X, how)
    learner.fit(how, [rows], Draws([3, 4], "fit"), unlabelled=X)
    torch.testing.assert_close([p.detach() for p in learner.theta], student)
    torch.testing.assert_close([p.detach() for p in learner.teacher], teacher)


def test_unlabelled_rows_count_in_the_consistency_term_only(learner, batch):
    x, y, _ = batch
    rows = Rows.full(x[:, :5], y[:, :5])
    other = Learner(SIZES, [3, 4])
    how = training(steps=3, batch=0, lr=0.1)
    learner.fit(how, [rows], Draws([3, 4], "fit"), unlabelled=x[:, 5:])
    other.fit(how, [rows], Draws([3, 4], "fit"))
    assert all(torch.equal(p, q) for p, q in zip(learner.theta, other.theta, strict=True))


def test_noise_differs_between_student_and_teacher(learner, batch):
    """With equal parameters only the noise separates the branches: the gap is not zero."""
    x, y, _ = batch
    rows = Rows.full(x, y)
    how = training(steps=1, batch=0, lr=1.0, consistency=1.0, ramp=False)
    start = learner.copy()
    for noise in (0.0, 0.5):
        how.noise = noise
        learner.load(start)
        learner.fit(how, [rows], Draws([3, 4], "fit"), weights=[0.0])
        moved = torch.stack(
            [(p != q).any(2).any(1) for p, q in zip(learner.theta, start, strict=True)]
        )
        assert moved.any(0).tolist() == [noise > 0] * 2


def test_a_classifier_that_is_no_network_predicts(learner, batch):
    learner.classifier = lambda x: torch.full(x.shape[:2], 2)
    assert learner.predict(batch[0]).unique().tolist() == [2]
