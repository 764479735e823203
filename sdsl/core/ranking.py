"""Ranks within classes: sorting by them takes the same share of every class."""

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.core.replica import take


def rank_in_class(key: Tensor, y: Tensor, classes: int) -> Tensor:
    """How many rows of its own class y have a smaller key: [S, n]; ties count in their order."""
    order = key.argsort(dim=1, stable=True)
    sorted_y = take(y, order)
    rank = F.one_hot(sorted_y, classes).cumsum(1).gather(2, sorted_y[:, :, None]).squeeze(2) - 1
    return torch.empty_like(rank).scatter_(1, order, rank)
