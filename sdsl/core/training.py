"""How one phase of training runs: steps, batches, learning rate, mean-teacher term."""

import math
from typing import Literal

from sdsl.core.settings import Count, Share, Weight, settings


@settings
class Training:
    """One phase of training; batch=0 is full batch."""

    steps: Count
    batch: Count  # rows of each labelled set in an update
    lr: Weight
    momentum: Share
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
