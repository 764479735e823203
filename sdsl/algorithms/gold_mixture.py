"""The first mixtures, from gold: EM within each class, several starts, the likeliest kept.

k_c = min(k, n_c // r), at least 1: a class gets no more components than its rows can shape, r = 5 d
with full covariances. Diagonal ones (more than WIDE features) are mostly the pooled one: there a
component needs rows for its mean alone.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.algorithms.mixture import Mixture, Priors, by_class, fit, log_joint, ridge

STARTS, ROUNDS = 10, 15
ROWS = 5  # gold rows per feature that a component needs
WIDE = 64  # features beyond which covariances are diagonal
FLAT = 20  # gold rows that a component needs there


def parts_of(y: Tensor, k: int, d: int, classes: int) -> list[int]:
    """How many components each class gets where k are asked for."""
    count = torch.bincount(y, minlength=classes)
    return (count // (ROWS * d if d <= WIDE else FLAT)).clamp(1, k).tolist()


def gold_mixture(
    X: Tensor,
    y: Tensor,
    parts: list[int],
    slots: int,
    form: str,
    floor: float,
    generator: torch.Generator,
) -> Mixture:
    """One mixture of gold rows X [n, d] with labels y [n], padded to `slots` components."""
    n, d = X.shape
    C, R = len(parts), STARTS if max(parts) > 1 else 1
    classes = [X[y == c] if (y == c).any() else X for c in range(C)]
    within = X - torch.stack([rows.mean(0) for rows in classes])[y]
    flat = form == "diagonal"
    pooled = within.square().sum(0) if flat else within.T @ within
    pooled = ridge(pooled / max(n - C, 1), n, floor, flat)
    mean, weight = X.new_zeros(R, slots, d), X.new_zeros(R, slots)
    owner, j = torch.zeros(R, slots, dtype=torch.long), 0
    for c, k in enumerate(parts):
        for s in range(R):
            mean[s, j : j + k] = spread(classes[c], k, generator) if k > 1 else classes[c].mean(0)
        owner[:, j : j + k] = c
        weight[:, j : j + k] = max(int((y == c).sum()), 1) / k
        j += k
    weight = weight / weight.sum(1, keepdim=True)
    wide = pooled.expand(R, 1 if form == "tied" else slots, *pooled.shape)
    start = Mixture(mean, wide, weight, wide[:, 0], owner)
    free = Priors(mean=1e-6, share=0.0, memory=0.0, floor=floor)
    mix = fit(start, X, free, ROUNDS, F.one_hot(y, C).to(X.dtype))
    like = by_class(log_joint(mix, X), owner, C).gather(2, y[None, :, None].expand(R, -1, 1))
    return mix.pick(int(like.sum((1, 2)).argmax()))


def spread(rows: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """k rows far apart (k-means++): each next one with a chance by its squared distance."""
    far = rows.new_ones(len(rows))
    picked: list[Tensor] = []
    for _ in range(k):
        u = far.sum() * torch.rand(1, generator=generator, dtype=rows.dtype)
        at = int(torch.searchsorted(far.cumsum(0), u).clamp(max=len(rows) - 1))
        gap = (rows - rows[at]).square().sum(1) + 1e-12
        far = torch.minimum(far, gap) if picked else gap
        picked.append(rows[at])
    return torch.stack(picked)
