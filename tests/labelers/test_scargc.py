"""SCARGC: inheritance and its repair by hand, modes of gold, a crossing that ST cannot follow."""

import numpy as np
import pytest
import support
import torch

from sdsl.core.draws import Draws
from sdsl.core.metrics import summarise
from sdsl.core.rows import Rows
from sdsl.labelers.scargc import centroids, inherit, k_means, modes


@pytest.mark.parametrize(
    ("new", "labels"),
    [([9.0, 1], [1, 0]), ([-1.0, 4], [0, 1])],  # both nearer to class 0: class 1 takes its nearest
)
def test_a_cluster_inherits_from_the_nearest_old_centroid(new, labels):
    old, old_y = torch.tensor([[0.0], [10]]), torch.tensor([0, 1])
    y, origin = inherit(torch.tensor(new)[:, None], old, old_y)
    assert y.tolist() == labels and torch.equal(origin, old[labels])


def test_k_means_by_hand_and_an_empty_cluster_stays():
    X = torch.tensor([[0.0], [2], [10], [12]])
    u = k_means(X, torch.tensor([[1.5], [9.0], [100.0]]))
    assert u.tolist() == [[1], [11], [100]]


def test_modes_and_the_same_number_of_clusters_for_all_classes():
    rng = np.random.default_rng(0)
    one = rng.normal(0, 1, (300, 2))
    two = np.concatenate([rng.normal(4, 1, (150, 2)), rng.normal(-4, 1, (150, 2))])
    assert (modes(one), modes(two), modes(one[:5])) == (1, 2, 1)
    gold = Rows(torch.tensor(np.concatenate([one, two])).float(), torch.arange(600) // 300)
    u, labels = centroids(gold, 0, Draws(0, "batches"))
    assert u.shape == (4, 2)
    assert labels.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("classes", [2, 4])
def test_follows_classes_that_change_places(classes):
    data = support.blobs(rows=4000, classes=classes, drift=2 * np.pi / classes)
    found = [support.run(f"method={m}", data=data, seed=10).outcome for m in ("scargc", "st")]
    moved, still = (summarise(outcome.R).acc_online for outcome in found)
    assert moved > 0.98 and still < 0.75
    assert found[0].curves["pseudo_label_acc"].min() > 0.9
