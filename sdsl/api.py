"""Imports for a component's author or a notebook; names only, no code of its own."""

from sdsl.config import component, composed, setup
from sdsl.core.contract import Labeler, Method, Probe, Pseudo, Replay, Step
from sdsl.core.draws import Batches, Draws
from sdsl.core.engine import Outcome
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows, Table
from sdsl.core.settings import Count, Positive, Share, Weight, settings
from sdsl.core.stream import Stream
from sdsl.core.training import Training
from sdsl.errors import UserError
from sdsl.experiment import Trial, run

__all__ = [
    "Batches",
    "Count",
    "Draws",
    "Labeler",
    "Learner",
    "Method",
    "Outcome",
    "Positive",
    "Probe",
    "Pseudo",
    "Replay",
    "Rows",
    "Share",
    "Step",
    "Stream",
    "Table",
    "Training",
    "Trial",
    "UserError",
    "Weight",
    "component",
    "composed",
    "run",
    "settings",
    "setup",
]
