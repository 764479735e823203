"""What a component's author or a notebook imports; names only, no code of its own."""

from sdsl.config.compose import component, composed
from sdsl.core.contract import Labeler, Method, Pseudo, Replay, Step
from sdsl.core.engine import Outcome
from sdsl.core.fields import choice, number, word
from sdsl.core.learner import Learner
from sdsl.core.probe import Probe
from sdsl.core.replica import Batches, Draws, Rows, take
from sdsl.core.stream import Stream
from sdsl.core.table import Table
from sdsl.core.training import Training
from sdsl.errors import UserError
from sdsl.experiment import Trial, run, setup

__all__ = [
    "Batches",
    "Draws",
    "Labeler",
    "Learner",
    "Method",
    "Outcome",
    "Probe",
    "Pseudo",
    "Replay",
    "Rows",
    "Step",
    "Stream",
    "Table",
    "Training",
    "Trial",
    "UserError",
    "choice",
    "component",
    "composed",
    "number",
    "run",
    "setup",
    "take",
    "word",
]
