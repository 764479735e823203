"""Has a distribution changed? Energy distance (Szekely & Rizzo 2013) of two row sets, by class.

E = sum_c n_c m_c / (n_c + m_c) (2 mean|a - b| - mean|a - a'| - mean|b - b'|) within each class c;
p by a shifted gamma distribution (Pearson type III) with the mean, variance and skewness of E under
permutations within classes: z = (E - mean) / sd, k = 4 / skewness^2, p = Q(k, k + z sqrt k). A
first look takes a few permutations and the skewness 2 sd / mean of a gamma that begins at 0. That
tail is too thin where a few rows lie far out, so near `limit` many permutations decide.
"""

import torch
from torch import Tensor

FIRST, MANY = 50, 1000  # permutations
NEAR = 100  # a first look below this many times the limit is not relied on
LEAST = 0.02  # skewness: less is a normal distribution


def distances(A: Tensor, B: Tensor) -> Tensor:
    """|x - y| of all rows of A [n, d] and B [m, d]: [n + m, n + m]."""
    rows = torch.cat([A, B])
    return torch.cdist(rows, rows)


def p_value(
    far: Tensor, a: Tensor, b: Tensor, generator: torch.Generator, limit: float = 0.0
) -> float:
    """From `distances` of rows with classes a [n] and b [m]; one class: a test of the whole."""
    keys = torch.rand(FIRST, len(a) + len(b), generator=generator, dtype=torch.float64)
    E, others = energies(far, a, b, keys)
    mean, sd = others.mean(), others.std()
    if not sd > 1e-12 * mean.abs():
        return 1.0
    p = tail((E - mean) / sd, 2 * sd / mean)
    if p >= NEAR * limit:
        return p
    # From a generator of its own: whoever draws next gets the same numbers, looked twice or not.
    own = torch.Generator().manual_seed(int(keys[0, 0] * 2**53))
    keys = torch.rand(MANY, len(a) + len(b), generator=own, dtype=torch.float64)
    _, others = energies(far, a, b, keys)
    z = (others - others.mean()) / others.std()
    return tail((E - others.mean()) / others.std(), z.pow(3).mean())


def tail(z: Tensor, skewness: Tensor) -> float:
    """P(Z >= z) of the Pearson type III distribution with mean 0, variance 1."""
    k = 4 / skewness.clamp(min=LEAST).square()
    return float(torch.special.gammaincc(k, (k + z * k.sqrt()).clamp(min=0)))


def energies(far: Tensor, a: Tensor, b: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """(E, E with sides permuted within classes by the order of keys [P, n + m]: [P])."""
    label = torch.cat([a, b])
    order = label.argsort(stable=True)
    label = label[order]
    side = (order < len(a)).to(far)  # 1: from A
    E = far.new_zeros(1 + len(keys))
    low = 0
    for count in label.unique_consecutive(return_counts=True)[1].tolist():
        here = slice(low, low + count)
        mine = order[here]
        E += energy(far[mine[:, None], mine], side[here], keys[:, here])
        low += count
    return E[0], E[1:]


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
