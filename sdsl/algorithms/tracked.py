"""What the tracker hands to replay besides its labels: the mixtures that gave them."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from sdsl.algorithms.mixture import Mixture
from sdsl.core.contract import Pseudo


@dataclass(frozen=True)
class Tracked(Pseudo):
    """rules: one a replica; network: [S], where the network of gold still decides instead."""

    rules: list[Mixture] = field(default_factory=list)
    network: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.bool))
