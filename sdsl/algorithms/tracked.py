"""What the tracker hands to replay besides its labels: the mixtures that gave them."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from sdsl.algorithms.mixture import Mixture
from sdsl.algorithms.present import MixturePresent, Present
from sdsl.core.contract import Pseudo


@dataclass(frozen=True)
class Tracked(Pseudo):
    """rules: one a replica; network: [S], where the network of gold still decides instead."""

    rules: list[Mixture] = field(default_factory=list)
    network: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.bool))

    def presents(self) -> list[Present | None]:
        """The model of the present of each replica; None where the network of gold decides."""
        pairs = zip(self.rules, self.network.tolist(), strict=True)
        return [None if network else MixturePresent(rule, 0) for rule, network in pairs]
