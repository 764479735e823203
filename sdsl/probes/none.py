"""No probe: nothing is measured after the run."""

from sdsl.core.contract import Measured, Probe
from sdsl.core.engine import Outcome
from sdsl.core.settings import settings
from sdsl.core.stream import Stream


@settings
class NoProbe(Probe):
    def measure(self, stream: Stream, outcome: Outcome) -> Measured:
        return {}
