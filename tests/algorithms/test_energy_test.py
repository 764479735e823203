"""Energy test: the statistic against slow NumPy; p even without drift, small with it."""

import numpy as np
import torch

from sdsl.algorithms.energy_test import distances, energies, energy
from sdsl.algorithms.energy_test import p_value as p_of_distances


def p_value(A, B, a, b, generator):
    return p_of_distances(distances(A, B), a, b, generator)


def draw(n, shift=0.0, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(n, 3, generator=g, dtype=torch.float64) + shift


def test_statistic_agrees_with_numpy():
    A, B = draw(8), draw(5, 0.5, 1)
    side = torch.tensor([1.0] * 8 + [0] * 5).double()
    keys = torch.zeros(0, 13)
    a, b = A.numpy(), B.numpy()

    def far(u, v):
        return np.mean([[np.linalg.norm(x - y) for y in v] for x in u])

    slow = 8 * 5 / 13 * (2 * far(a, b) - far(a, a) - far(b, b))
    assert np.isclose(float(energy(distances(A, B), side, keys)[0]), slow)


def test_p_is_even_without_drift_and_small_with_it():
    g, one = torch.Generator().manual_seed(3), torch.zeros(60, dtype=torch.long)
    same = [p_value(draw(60, 0, s), draw(60, 0, 100 + s), one, one, g) for s in range(60)]
    assert 0.35 < np.mean(same) < 0.65
    assert np.mean(np.array(same) < 0.05) < 0.15
    assert p_value(draw(60), draw(60, 1.5, 1), one, one, g) < 1e-6


def test_classes_that_change_places_show_class_by_class_only():
    g = torch.Generator().manual_seed(0)
    a, one = torch.arange(120) // 60, torch.zeros(120, dtype=torch.long)
    whole, same, swapped = [], [], []
    for s in range(0, 160, 4):
        A = torch.cat([draw(60, -2, s), draw(60, 2, s + 1)])
        B = torch.cat([draw(60, -2, s + 2), draw(60, 2, s + 3)])
        whole.append(p_value(A, B, one, one, g))
        same.append(p_value(A, B, a, a, g))
        swapped.append(p_value(A, B, a, 1 - a, g))
    assert min(whole) > 0.05  # of equal class sizes, so the whole is more alike than by chance
    assert 0.35 < np.mean(same) < 0.65
    assert max(swapped) < 1e-6


def test_where_a_few_rows_lie_far_out_many_permutations_find_the_tail():
    """Eight classes; of one of them eight rows lie far out, all on one side."""
    g, y = torch.Generator().manual_seed(0), torch.arange(160) % 8
    A, B = draw(160), draw(160, 0, 1)
    B[(y == 0).nonzero()[:8, 0]] += 8
    far = distances(A, B)
    keys = torch.rand(20_000, 320, generator=g, dtype=torch.float64)
    E, others = energies(far, y, y, keys)
    exact = float((others >= E).double().mean())
    assert 0.0005 < exact < 0.002
    assert p_of_distances(far, y, y, g) < exact / 4  # a first look sees drift where chance is
    assert exact / 2 < p_of_distances(far, y, y, g, limit=1.0) < 2 * exact


def test_a_second_look_draws_nothing_from_the_generator():
    one, after = torch.zeros(30, dtype=torch.long), []
    for limit in (0.0, 1.0):
        g = torch.Generator().manual_seed(0)
        p_of_distances(distances(draw(30), draw(30, 0.3, 1)), one, one, g, limit)
        after.append(float(torch.rand((), generator=g)))
    assert after[0] == after[1]


def test_nothing_to_compare_is_no_evidence():
    g, row = torch.Generator().manual_seed(0), torch.zeros(1, 3).double()
    zero, one = torch.zeros(1, dtype=torch.long), torch.ones(1, dtype=torch.long)
    assert p_value(row, row, zero, one, g) == 1.0
    assert p_value(row, row, zero, zero, g) == 1.0
