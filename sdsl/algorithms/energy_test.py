"""Has a distribution changed? Energy distance (Szekely & Rizzo 2013) of two row sets, by class.

E = sum_c n_c m_c / (n_c + m_c) (2 mean|a - b| - mean|a - a'| - mean|b - b'|) within each class c;
p by a gamma distribution with the mean and variance of E under permutations within classes.
"""

import torch
from torch import Tensor

PERMUTATIONS = 50


def distances(A: Tensor, B: Tensor) -> Tensor:
    """|x - y| of all rows of A [n, d] and B [m, d]: [n + m, n + m]."""
    rows = torch.cat([A, B])
    return torch.cdist(rows, rows)


def p_value(far: Tensor, a: Tensor, b: Tensor, generator: torch.Generator) -> float:
    """From `distances` of rows with classes a [n] and b [m]; one class: a test of the whole."""
    label = torch.cat([a, b])
    order = label.argsort(stable=True)
    label = label[order]
    side = (order < len(a)).to(far)  # 1: from A
    keys = torch.rand(PERMUTATIONS, len(label), generator=generator, dtype=torch.float64)
    E = far.new_zeros(1 + PERMUTATIONS)  # the first is the true one
    low = 0
    for count in label.unique_consecutive(return_counts=True)[1].tolist():
        here = slice(low, low + count)
        mine = order[here]
        E += energy(far[mine[:, None], mine], side[here], keys[:, here])
        low += count
    mean, var = E[1:].mean(), E[1:].var()
    if not var > 1e-24 * mean.square():
        return 1.0
    return float(torch.special.gammaincc(mean.square() / var, E[0].clamp(min=0) * mean / var))


def energy(far: Tensor, side: Tensor, keys: Tensor) -> Tensor:
    """n m / (n + m) times the energy distance, as it is and with sides permuted: [1 + P].

    far [rows, rows]: distances of the rows of both sides.
    """
    n, m = side.sum(), (1 - side).sum()
    if n == 0 or m == 0:
        return far.new_zeros(1 + len(keys))
    sides = torch.cat([side[None], side[keys.argsort(1)]])  # [1 + P, rows]
    w = sides / n - (1 - sides) / m
    return -n * m / (n + m) * ((w @ far) * w).sum(1)
