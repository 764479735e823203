"""The contract of a probe: what is measured on the final model after the stream has ended."""

from dataclasses import dataclass

import numpy as np

from sdsl.core.engine import Outcome
from sdsl.core.stream import Stream


@dataclass
class Probe:
    """Override `measure`."""

    def measure(self, stream: Stream, outcome: Outcome) -> dict[str, np.ndarray]:
        """Curves of the final model, name -> [S, points]; they go to MLflow as they are."""
        raise TypeError(f"{type(self).__name__} must define measure(stream, outcome)")
