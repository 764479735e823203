"""Clusters of the past against slow plain versions: moments, mergers, densities, samples."""

from itertools import combinations

import numpy as np
import pytest
import torch
from memory_support import D, plain, segments, slow_evidence, slow_merge, slow_rest
from scipy.stats import multivariate_normal, norm

from sdsl.algorithms import memory
from sdsl.algorithms.memory import Clusters, new_clusters, size
from sdsl.algorithms.merging import merged, reduced
from sdsl.algorithms.past import Past, sample
from sdsl.algorithms.recall import at_times, overall, shares


def slow_reduced(clusters: list[dict], most: int) -> list[dict]:
    while len(clusters) > most:
        best = None
        for i, j in combinations(range(len(clusters)), 2):
            a, b = clusters[i], clusters[j]
            if a["c"] == b["c"]:
                cost = slow_evidence(slow_merge(a, b)) - slow_evidence(a) - slow_evidence(b)
                best = min(best or (np.inf,), (cost, i, j))
        _, i, j = best
        clusters[i] = slow_merge(clusters[i], clusters[j])
        del clusters[j]
    return clusters


def test_mergers_are_those_of_the_plain_version():
    c = segments()
    found, slow = plain(reduced(c, 7)), slow_reduced(plain(c), 7)
    assert len(found) == len(slow) == 7
    for a, b in zip(found, slow, strict=True):
        for key in a:
            assert np.allclose(a[key], b[key], atol=1e-9), key


def test_merging_all_keeps_the_moments_of_all_rows():
    c = segments()
    one = plain(reduced(c, 2))
    for k in one:
        rows = [other for other in plain(c) if other["c"] == k["c"]]
        n, m = np.array([r["n"] for r in rows]), np.array([r["m"] for r in rows])
        tau = np.array([r["tau"] for r in rows])
        assert np.isclose(k["n"], n.sum())
        assert np.allclose(k["m"], n @ m / n.sum())
        assert np.allclose(k["s"], n @ ((m - k["m"]) * (tau - k["tau"])[:, None]) / n.sum())


def test_steady_motion_is_one_cluster_that_moves():
    m = torch.tensor([[0.0], [1.0], [2.0], [3.0]]).double()
    one, tau = torch.ones(4).double(), torch.arange(4).double()
    c = Clusters.of(torch.zeros(4).long(), 100 * one, tau, 0 * one, m, one[:, None], 0 * m)
    steady = reduced(c, 1)
    assert torch.allclose(steady.slope, one[:1, None])
    assert torch.allclose(steady.rest, one[:1, None])  # as wide as each, wherever it is


def test_more_classes_than_room_keeps_the_heaviest():
    c = segments(classes=4)
    assert len(reduced(c, 3)) == 3
    assert set(reduced(c, 3).owner.tolist()) < {0, 1, 2, 3}


@pytest.mark.parametrize("d", [1, 2, 16, 500])
@pytest.mark.parametrize("rows", [0, 0.5, 50, 100])
def test_the_budget_is_kept(d, rows):
    one, wide = torch.ones(1).double(), torch.ones(1, d).double()
    one = Clusters.of(torch.zeros(1).long(), one, one, one, wide, wide, wide)
    assert one.numbers == 3 * d + 4
    assert size(d, rows) * one.numbers <= rows * (d + 1) < (size(d, rows) + 1) * one.numbers


def test_densities_are_those_of_scipy():
    c, g = reduced(segments(), 6), torch.Generator().manual_seed(1)
    Z = torch.randn(9, D, generator=g).double() * 3
    times = torch.tensor([0.0, 3.5, 11.0]).double()
    joint, whole, w = at_times(c, Z, times).exp(), overall(c, Z).exp(), shares(c, times).exp()
    total = float(c.n.sum())
    for i, k in enumerate(plain(c)):
        slope = k["s"] / k["v"] if k["v"] else 0 * k["s"]
        cov = np.diag(slow_rest(k)) + k["v"] * np.outer(slope, slope)
        density = multivariate_normal(k["m"], cov).pdf(Z.numpy())
        assert np.allclose(whole[:, i], k["n"] / total * density)
        for u, time in enumerate(times.tolist()):
            there = multivariate_normal(k["m"] + slope * (time - k["tau"]), np.diag(slow_rest(k)))
            assert np.allclose(joint[u, :, i], float(w[u, i]) * there.pdf(Z.numpy()))
            others = plain(c)
            near = [
                o["n"] * norm(o["tau"], np.sqrt(o["v"] + memory.WITHIN)).pdf(time) for o in others
            ]
            assert np.isclose(float(w[u, i]), near[i] / sum(near))


def test_samples_have_the_moments_of_the_clusters():
    c = reduced(segments(), 2)
    Z, y = sample(c, 200_000, torch.Generator().manual_seed(0))
    for k in plain(c):
        own = Z[y == k["c"]].numpy()
        assert np.isclose(len(own) / len(Z), k["n"] / float(c.n.sum()), atol=0.01)
        assert np.allclose(own.mean(0), k["m"], atol=0.05)
        assert np.allclose(own.var(0), np.maximum(k["V"], slow_rest(k)), rtol=0.03)


def test_storage_never_grows_and_is_plain_tensors():
    past = Past.none(2, D, 5)
    before = past.moments.shape
    for t in range(6):
        Z = torch.randn(20, D, generator=torch.Generator().manual_seed(t)).double()
        r = torch.nn.functional.one_hot(torch.arange(20) % 3, 3).double()
        new = new_clusters(Z, r, torch.arange(3), t)
        past = past.learn([new, new.pick(torch.tensor([0]))])
        assert past.moments.shape == before
    assert past.count.tolist() == [5, 5]
    assert past.numbers.tolist() == [5 * (3 * D + 4)] * 2


@pytest.mark.parametrize("kind", ["one row", "constant", "huge", "nothing"])
def test_finite_under_awkward_rows(kind):
    Z = {
        "one row": torch.ones(1, D),
        "constant": torch.ones(8, D),
        "huge": 1e6 * torch.randn(8, D, generator=torch.Generator().manual_seed(0)),
        "nothing": torch.zeros(0, D),
    }[kind].double()
    r = torch.zeros(len(Z), 2).double()
    r[:, 0] = 1  # the other class is empty
    c = segments(T=3).joined(new_clusters(Z, r, torch.arange(2), 3))
    c = reduced(c, 4)
    assert c.moments.isfinite().all()
    probe = torch.cat([Z, 1e6 + Z, torch.zeros(1, D).double()])
    assert overall(c, probe).isfinite().all()
    assert at_times(c, probe, torch.tensor([0.0, 3.0]).double()).isfinite().all()


def test_merged_is_symmetric():
    c = segments(T=2)
    a, b = c.pick(torch.tensor([0])), c.pick(torch.tensor([2]))
    assert torch.allclose(merged(a, b).moments, merged(b, a).moments)
