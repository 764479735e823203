"""No probe: nothing is measured after the run."""

from dataclasses import dataclass

import numpy as np

from sdsl.core.engine import Outcome
from sdsl.core.probe import Probe
from sdsl.core.stream import Stream


@dataclass
class NoProbe(Probe):
    def measure(self, stream: Stream, outcome: Outcome) -> dict[str, np.ndarray]:
        return {}
