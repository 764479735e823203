"""Random numbers by name, and minibatches drawn with them.

Data split, initialisation and batches have a generator each, derived from (seed, name): drawing
more from one never shifts another.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from sdsl.core.rows import Rows
from sdsl.errors import UserError

AT_ONCE = 2**16  # random numbers drawn at a time, so that they stay in cache


def derive(seed: int, name: str) -> int:
    """A 63-bit seed for the generator called `name`."""
    state = np.random.SeedSequence([seed, *name.encode()]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


class Draws:
    """Random numbers from the generator of (seed, name)."""

    def __init__(self, seed: int, name: str):
        self.generator = torch.Generator().manual_seed(derive(seed, name))

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.generator)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator)

    def permutation(self, n: int) -> Tensor:
        return torch.randperm(n, generator=self.generator)

    def normals(self, steps: int, *shape: int) -> Iterator[Tensor]:
        """Normal numbers for so many steps: [some steps, *shape] at a time."""
        return (self.normal(n, *shape) for n in _portions(steps, math.prod(shape)))

    def uniforms(self, steps: int, *shape: int) -> Iterator[Tensor]:
        """Uniform numbers for so many steps: [some steps, *shape] at a time."""
        return (self.uniform(n, *shape) for n in _portions(steps, math.prod(shape)))

    def state(self) -> Tensor:
        return self.generator.get_state()

    def restore(self, state: Tensor) -> None:
        self.generator.set_state(state)


def _portions(steps: int, numbers: int) -> Iterator[int]:
    """`steps` in parts of at most AT_ONCE numbers, so many a step."""
    largest = max(1, AT_ONCE // max(1, numbers))
    for start in range(0, steps, largest):
        yield min(largest, steps - start)


class Batches:
    """Minibatches from several row sets at once, one per step.

    sum_b w * loss is then sum_k weights[k] * (mean loss over set k's batch): each set's loss is a
    mean of its own, so that the largest does not drown the others. An empty set weighs nothing.
    batch=0 takes every row of every set at each step.
    """

    X: Tensor  # [n, d], the sets one after the other
    y: Tensor  # [n]
    w: Tensor  # [b]
    index: Tensor  # [steps, b] into the rows; [1, n], the same at every step, if batch=0

    def __init__(
        self,
        sets: Sequence[Rows],
        weights: Sequence[float],
        steps: int,
        batch: int,
        draws: Draws,
    ):
        rows = Rows.cat(*sets)
        if not len(rows):  # compiled loops would read beyond them
            raise UserError(
                "There are no rows to draw batches from: skip the fit where none is kept."
            )
        self.X, self.y, self.steps, self.batch = rows.X, rows.y, steps, batch
        sizes = [len(part) for part in sets]
        pairs = [(batch or n, w if n else 0.0) for n, w in zip(sizes, weights, strict=True)]
        self.w = torch.cat([torch.full((b,), w) / max(1, b) for b, w in pairs])
        self.index = torch.arange(len(rows))[None]
        if batch:
            u = draws.uniform(steps, len(sets) * batch).split(batch, 1)  # drawn once for the phase
            parts = [
                start + (part * n).long().clamp_(max=n - 1) if n else torch.zeros_like(part).long()
                for start, n, part in zip(np.cumsum([0, *sizes[:-1]]), sizes, u, strict=True)
            ]
            self.index = torch.cat(parts, 1)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, features) of a step's batch."""
        return len(self.w), self.X.shape[1]

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """(x [b, d], y [b], w [b]) of every step."""
        for k in range(self.steps):
            index = self.index[k if self.batch else 0]
            yield self.X[index], self.y[index], self.w
