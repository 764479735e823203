"""How a phase of descent runs: steps, batches, learning rate, when it ends; mean-teacher term."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from sdsl.core.rows import Rows
from sdsl.core.settings import Count, Positive, Share, Weight, settings
from sdsl.errors import UserError


@settings
class Descent:
    """Stochastic gradient descent; batch=0 is full batch.

    until=settled: a block of steps at a time, until the mean cross-entropy of all labelled rows
    falls by less than `tolerance` in one of them.
    """

    until: Literal["steps", "settled"]
    steps: Count  # settled: at most so many
    block: Positive
    tolerance: Weight
    batch: Count  # rows in an update
    union: bool  # drawn from all labelled sets together; false: so many from each, a mean per set
    lr: Weight
    momentum: Share

    def gathered(
        self, sets: Sequence[Rows], weights: Sequence[float] | None = None
    ) -> tuple[list[Rows], list[float]]:
        """(the sets that batches are drawn from, the weight of the mean loss of each)."""
        if self.union and weights is not None:
            raise UserError(
                "Sets that weigh differently form no union: set union=false in the fit."
            )
        if self.union:
            return [Rows.cat(*sets)], [1.0]
        return list(sets), [1.0] * len(sets) if weights is None else list(weights)

    def blocks(self, loss: Callable[[], float]) -> Iterator[range]:
        """The steps, a block at a time; `loss` is asked for after each."""
        if self.until == "steps":
            yield range(self.steps)
            return
        last = loss()
        for start in range(0, self.steps, self.block):
            yield range(start, min(start + self.block, self.steps))
            before, last = last, loss()
            if not before - last >= self.tolerance:  # also where it is no number
                return


@settings
class Training(Descent):
    """A mean-teacher fit."""

    optimizer: Literal["sgd", "adam"]
    decay: bool  # the rate falls to 0 in a straight line over the steps
    consistency: Weight  # weight of the mean-teacher term after ramp-up
    noise: Weight  # sd of the Gaussian input noise of student and teacher
    ema: Share  # how slowly the teacher follows the student
    ramp: bool  # the mean-teacher term's weight grows over the first 30% of the steps

    def rate(self, k: int) -> float:
        """The learning rate of step k = 0, 1, ..."""
        return self.lr * (1 - k / self.steps if self.decay else 1)

    def ramp_up(self, k: int) -> float:
        """The share of the mean-teacher term's weight at step k (Laine and Aila, 2017)."""
        if not self.ramp:
            return 1.0
        return math.exp(-5 * (1 - min(1.0, (k + 1) / (0.3 * self.steps))) ** 2)
