"""The replica axis: seeds train side by side, and each draws only from generators of its own.

A tensor of S replicas leads with S. Nothing ever reduces across S, so a seed's bits do not depend
on which others run beside it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

AT_ONCE = 2**16  # random numbers, so that they stay in cache


def derive(seed: int, name: str) -> int:
    """A 63-bit seed for the generator called `name`: drawing more in one never shifts another."""
    state = np.random.SeedSequence([seed, *name.encode()]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


class Draws:
    """Random numbers for S replicas from S generators derived from (seed, name)."""

    def __init__(self, seeds: Sequence[int], name: str):
        self.generators = [torch.Generator().manual_seed(derive(s, name)) for s in seeds]

    def uniform(self, *shape: int) -> Tensor:
        return torch.stack([torch.rand(shape, generator=g) for g in self.generators])

    def normal(self, *shape: int) -> Tensor:
        return torch.stack([torch.randn(shape, generator=g) for g in self.generators])

    def normals(self, s: int, steps: int, *shape: int) -> Iterator[Tensor]:
        """Replica s's alone, for so many steps: [some steps, ...] at a time."""
        for n in portions(steps, math.prod(shape)):
            yield torch.randn((n, *shape), generator=self.generators[s])

    def uniforms(self, s: int, steps: int, *shape: int) -> Iterator[Tensor]:
        """The same, uniform."""
        for n in portions(steps, math.prod(shape)):
            yield torch.rand((n, *shape), generator=self.generators[s])

    def permutation(self, n: int) -> Tensor:
        return torch.stack([torch.randperm(n, generator=g) for g in self.generators])


def portions(steps: int, numbers: int) -> Iterator[int]:
    """`steps` in parts of at most AT_ONCE numbers, so many a step."""
    most = max(1, AT_ONCE // max(1, numbers))
    for start in range(0, steps, most):
        yield min(most, steps - start)


def take(X: Tensor, index: Tensor) -> Tensor:
    """X[s, index[s]] for every replica: [S, n, ...] and [S, k] to [S, k, ...]."""
    S, n = X.shape[:2]
    flat = index + n * torch.arange(S).view(S, *[1] * (index.dim() - 1))
    return X.flatten(0, 1).index_select(0, flat.flatten()).view(*index.shape, *X.shape[2:])


@dataclass(frozen=True)
class Rows:
    """Labelled rows of S replicas; sets are ragged, so only the first count[s] rows are real."""

    X: Tensor  # [S, n, d]
    y: Tensor  # [S, n] int64
    count: Tensor  # [S] int64

    @classmethod
    def full(cls, X: Tensor, y: Tensor) -> "Rows":
        return cls(X, y, torch.full((len(X),), X.shape[1]))

    @classmethod
    def unlabelled(cls, X: Tensor, count: Tensor | None = None) -> "Rows":
        """Rows whose labels nobody reads."""
        y = torch.zeros(X.shape[:2], dtype=torch.long)
        return cls.full(X, y) if count is None else cls(X, y, count)

    @classmethod
    def empty_like(cls, X: Tensor) -> "Rows":
        S, _, d = X.shape
        return cls(X.new_zeros(S, 0, d), torch.zeros(S, 0, dtype=torch.long), torch.zeros(S).long())

    @property
    def mask(self) -> Tensor:  # [S, n]
        return torch.arange(self.X.shape[1]) < self.count[:, None]

    def where(self, keep: Tensor) -> "Rows":
        """The rows with keep [S, n] set, in their order, moved to the front.

        The width stays, whatever the counts: no shape may depend on which replicas run together.
        """
        keep = keep & self.mask
        order = torch.argsort(keep.logical_not().byte(), dim=1, stable=True)
        return Rows(take(self.X, order), take(self.y, order), keep.sum(1))

    def narrow(self) -> "Rows":
        """Without the columns that are padding in every replica: only where counts are equal."""
        n = int(self.count.max())
        return Rows(self.X[:, :n].contiguous(), self.y[:, :n].contiguous(), self.count)

    def replica(self, s: int) -> tuple[Tensor, Tensor]:
        """One replica's real rows, for what a library solves one replica at a time."""
        return self.X[s, : self.count[s]], self.y[s, : self.count[s]]

    @classmethod
    def ragged(cls, parts: Sequence[tuple[Tensor, Tensor]]) -> "Rows":
        """From one (X [n_s, d], y [n_s]) per replica, padded with zeros."""
        n = max(len(y) for _, y in parts)
        X = parts[0][0].new_zeros(len(parts), n, parts[0][0].shape[1])
        y = torch.zeros(len(parts), n, dtype=torch.long)
        for s, (Xs, ys) in enumerate(parts):
            X[s, : len(ys)], y[s, : len(ys)] = Xs, ys
        return cls(X, y, torch.tensor([len(ys) for _, ys in parts]))


Batch = tuple[Tensor, Tensor, Tensor]  # x [S, b, d], y [S, b], w [S, b]


class Batches:
    """Minibatches from several row sets at once, one per step.

    sum_b w * loss is then sum_k weights[k] * (mean loss over set k's batch): each set's loss is a
    mean of its own, so that the largest does not drown the others. An empty set weighs nothing.
    batch=0 takes every row of every set at each step.
    """

    def __init__(
        self,
        sets: Sequence[Rows],
        weights: Sequence[float | Tensor],
        steps: int,
        batch: int,
        draws: Draws,
    ):
        self.X = torch.cat([rows.X for rows in sets], 1)
        self.y = torch.cat([rows.y for rows in sets], 1)
        self.steps, self.batch = steps, batch
        filled = [(rows.count > 0).float() * w for rows, w in zip(sets, weights, strict=True)]
        if batch:
            starts = np.cumsum([0] + [rows.X.shape[1] for rows in sets[:-1]])
            u = draws.uniform(steps, len(sets) * batch).split(batch, 2)  # drawn once for the phase
            parts = [
                start + (part * rows.count.view(-1, 1, 1)).long().clamp_(max=rows.X.shape[1] - 1)
                if rows.X.shape[1]
                else torch.zeros_like(part, dtype=torch.long)
                for start, part, rows in zip(starts, u, sets, strict=True)
            ]
            self.index = torch.cat(parts, 2)  # [S, steps, b]
            self.w = torch.cat([(f / batch)[:, None].expand(-1, batch) for f in filled], 1)
        else:
            self.index = torch.arange(self.X.shape[1]).expand(len(self.X), 1, -1)  # at every step
            self.w = torch.cat(
                [
                    rows.mask * (f / rows.count.clamp(min=1))[:, None]
                    for rows, f in zip(sets, filled, strict=True)
                ],
                1,
            )

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, features) of a step's batch."""
        return self.w.shape[1], self.X.shape[2]

    def __iter__(self) -> Iterator[Batch]:
        if not self.batch:
            yield from [(self.X, self.y, self.w)] * self.steps
            return
        S, b = self.w.shape
        X, y = self.X.flatten(0, 1), self.y.flatten()  # views: whoever writes to y is heard
        offset = self.X.shape[1] * torch.arange(S).view(-1, 1, 1)
        for index in (self.index + offset).transpose(0, 1).flatten(1):  # [S b]
            yield (
                X.index_select(0, index).view(S, b, -1),
                y.index_select(0, index).view(S, b),
                self.w,
            )
