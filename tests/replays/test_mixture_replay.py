"""The rule of present and past, its gate, its budget and its two ways to predict."""

from dataclasses import replace

import numpy as np
import pytest
import support
import torch
from memory_support import plain, slow_rest
from scipy.stats import multivariate_normal

from sdsl.algorithms.mixture import Mixture, by_class
from sdsl.algorithms.present import fit, form
from sdsl.algorithms.tracked import Tracked
from sdsl.core.contract import Labeler
from sdsl.core.replica import Rows
from sdsl.replays.mixture import MixtureRule

WORDS = "method=scargc", "replay=mixture", "lookback.size=0"
DATA = support.blobs(rows=1200, classes=3, drift=3.0, spread=0.8)


def trial(*words: str, seeds=(10, 11), data=DATA):
    return support.run(*WORDS, *words, seeds=seeds, data=data)


@pytest.fixture(scope="module")
def mixed():
    return trial("replay.rule=mixture", "eval.context=true")


def rows_of(run):
    X, y = run.stream.tests()
    return run.outcome.scaler(X.flatten(1, 2)), X, y


def test_the_rule_is_the_weighted_sum_of_both_densities(mixed):
    rule, (x, _, _) = mixed.outcome.learner.classifier, rows_of(mixed)
    x = x[:, :50]
    said = rule(x)
    for s in range(2):
        now = by_class(rule.rules[s].joint(x[s].double()), rule.rules[s].owner, 3).exp().numpy()
        white, c = rule.whitening[s], rule.past.clusters(s)
        Z, past = white(x[s]).numpy(), np.zeros((50, 3))
        for k in plain(c):
            slope = k["s"] / k["v"] if k["v"] else 0 * k["s"]
            cov = np.diag(slow_rest(k)) + k["v"] * np.outer(slope, slope)
            past[:, k["c"]] += k["n"] / float(c.n.sum()) * multivariate_normal(k["m"], cov).pdf(Z)
        joint = 0.9 * now + 0.1 * past * np.exp(float(white.log_det))
        assert np.array_equal(said[s].numpy(), joint.argmax(1))


def test_lambda_one_is_the_present_alone(mixed):
    rule, (x, _, _) = replace(mixed.outcome.learner.classifier, present=1.0), rows_of(mixed)
    said = rule(x)
    for s in range(2):
        now = by_class(rule.rules[s].joint(x[s].double()), rule.rules[s].owner, 3)
        assert torch.equal(said[s], now.argmax(1))


def test_memory_forgets_less_and_context_hardly_at_all(mixed):
    alone = trial("replay.rule=mixture", "replay.present=1")
    final = [out.R[:, -1].mean() for out in (alone.outcome, mixed.outcome)]
    assert final[1] > final[0] + 0.05
    assert mixed.outcome.R_context[:, -1].mean() > final[1] + 0.05


def test_numbers_stay_within_the_budget(mixed):
    curves, d = mixed.outcome.curves, 2
    assert curves["memory_numbers"].max() <= 100 * (d + 1)
    assert (curves["memory_numbers"] == curves["clusters"] * (3 * d + 4)).all()
    assert curves["model_numbers"].max() <= 100 * (d + 1) + 101 * 100 + 101 * 3


@pytest.mark.parametrize(("d", "C"), [(2, 2), (64, 10), (500, 2), (300, 26)])
def test_a_fitted_present_holds_no_more_than_the_network(d, C):
    g = torch.Generator().manual_seed(0)
    X, y = torch.randn(20 * C, d, generator=g), torch.arange(20 * C) % C
    found = fit(X, y, C, 4)
    assert found.numbers <= 100 * (d + 1) + 101 * 100 + 101 * C
    assert found.joint(X).isfinite().all()


def test_forms_of_covariance():
    assert [form(d, 10, 10) for d in (16, 64, 500)] == ["full", "tied", "diagonal"]


def test_the_network_predicts_where_it_is_told_to():
    run = trial("replay.rule=network", "eval.context=true")
    assert (run.outcome.curves["by_network"] == 1).all()
    assert np.array_equal(run.outcome.R, run.outcome.R_context, equal_nan=True)
    learner, (x, _, _) = run.outcome.learner, rows_of(run)
    assert torch.equal(learner.predict(x), learner.probabilities(x).argmax(2))


def rings(rows: int = 1200):
    """Class 1 is a ring between two rings of class 0; more features than components have rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=rows)
    radius = np.where(y == 1, 2, rng.choice([1.0, 3.0], size=rows)) + rng.normal(0, 0.1, rows)
    angle = rng.uniform(0, 2 * np.pi, rows)
    return support.table(
        np.c_[radius * np.cos(angle), radius * np.sin(angle), np.zeros((rows, 8))], y
    )


def test_the_gate_sees_what_gaussians_cannot():
    words = *WORDS, "stream.max_segments=2"
    for data, by_network in ((rings(), 1), (DATA, 0)):
        out = support.run(*words, data=data, segment_size=300, test_size=20).outcome
        assert (out.curves["by_network"] == by_network).all()


@pytest.mark.parametrize("rule", ["auto", "network"])
def test_same_bits_alone_and_fused(rule, monkeypatch):
    """By the gate, some replicas train a network beside others that do not."""
    monkeypatch.setattr(
        MixtureRule, "network_ahead", lambda self, gold, learner, draws: (gold.y[:, 0] > 0).tolist()
    )
    words = f"replay.rule={rule}", "eval.context=true", "replay.fit.steps=5", "lookback.size=5"
    data = support.blobs(rows=500, classes=2, drift=2.0, spread=1.6)
    fused = trial(*words, seeds=(3, 1, 8, 5), data=data).outcome
    assert len(np.unique(fused.curves["by_network"])) == (2 if rule == "auto" else 1)
    for s, seed in enumerate((3, 1, 8, 5)):
        alone = trial(*words, seeds=(seed,), data=data).outcome
        assert np.array_equal(alone.R[0], fused.R[s])
        assert np.array_equal(alone.R_context[0], fused.R_context[s])
        both = zip(alone.learner.theta, fused.learner.theta, strict=True)
        assert all(torch.equal(a[0], b[s]) for a, b in both)
        for name, curve in alone.curves.items():
            assert np.array_equal(curve[0], fused.curves[name][s], equal_nan=True), name


class Given(Labeler):
    """Brings mixtures of its own: for the first replica one that always says class 2."""

    def label(self, step, learner):
        one = torch.ones(1, 1).double()
        sure = Mixture(
            mean=torch.zeros(1, 1, 2).double(),
            cov=torch.eye(2).double()[None, None],
            weight=one,
            pooled=torch.eye(2).double()[None],
            owner=torch.full((1, 1), 2),
        )
        y = torch.arange(step.X.shape[1]).expand(2, -1) % 3
        rows = Rows.full(step.X, y)
        return Tracked(y, rows, {}, [sure, sure], torch.tensor([False, True]))


def test_a_labeler_may_bring_the_present():
    cfg = support.config(*WORDS, "replay.rule=mixture", "replay.present=1")
    cfg |= {"dataset": support.small()}
    setup = support.experiment.setup(cfg)
    setup = replace(setup, method=replace(setup.method, labeler=Given()))
    run = support.experiment.run(setup, (10, 11), DATA)
    said = run.outcome.learner.predict(rows_of(run)[0])
    assert (said[0] == 2).all()
    assert torch.equal(said[1], run.outcome.learner.probabilities(rows_of(run)[0])[1].argmax(1))
    assert (run.outcome.curves["model_numbers"] == 0).all()  # the labeler counts its own


@pytest.mark.parametrize("kind", ["constant feature", "scale of a million", "one row", "one class"])
def test_finite_on_awkward_streams(kind):
    X, y, sizes = DATA.X[:240].copy(), DATA.y[:240].copy(), {"segment_size": 30, "test_size": 10}
    if kind == "constant feature":
        X = np.c_[X, np.full(len(X), 7.0)]
    if kind == "scale of a million":
        X = 1e6 * (X + 1)
    if kind == "one row":
        sizes = {"segment_size": 12, "test_size": 11}
    if kind == "one class":
        X[60:90], y[60:90] = X[y == 0][:30], 0
    words = *WORDS, "eval.context=true", "stream.gold=1", "replay.fit.steps=3"
    labels = "labeler=oracle", "labeler.keep_all=false"
    data = support.table(X, y)
    for scaler in ("frozen", "per_step", "none"):
        out = support.run(*words, *labels, f"stream.scaler={scaler}", data=data, **sizes).outcome
        assert np.isfinite(out.R).all() and np.isfinite(out.R_context).all()
        assert all(np.isfinite(curve).all() for curve in out.curves.values())
