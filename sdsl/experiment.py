"""The one way from a config to an outcome, for commands and notebooks alike.

from sdsl.api import composed, run, setup
trial = run(setup(composed("method=ours", "dataset=satimage")), seed=0)
trial.outcome.R  # [T + 1, T]
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from sdsl import datasets
from sdsl.config import Setup
from sdsl.core import engine
from sdsl.core.checks import measure
from sdsl.core.contract import Measured
from sdsl.core.draws import Draws
from sdsl.core.engine import OnStep, Outcome
from sdsl.core.kernel import blas
from sdsl.core.learner import Learner
from sdsl.core.network import layer_sizes
from sdsl.core.rows import Table
from sdsl.core.state import Checkpoint
from sdsl.core.stream import Stream
from sdsl.errors import ComponentError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """A finished run: its stream, the engine's outcome, and what the probe measured."""

    stream: Stream
    outcome: Outcome
    probed: Measured  # name -> a number, or a curve [points]
    failure: ComponentError | None = None  # of the probe; the outcome is sound all the same


def load(setup: Setup) -> Table:
    """The rows of the setup's dataset, in stream order."""
    return datasets.load(setup.config["dataset"], setup.data)


def cut(setup: Setup, table: Table, seed: int) -> Stream:
    """The table as a stream of gold, segments and test parts; refuses what cannot be one."""
    return Stream(table, setup.dataset, setup.stream, seed)


def learner(setup: Setup, stream: Stream) -> Learner:
    """A new random network for a stream."""
    return Learner(layer_sizes(stream.d, setup.hidden, stream.C), Draws(stream.seed, "init"))


def run(
    setup: Setup,
    seed: int,
    table: Table | None = None,
    on_step: OnStep = lambda t, online: None,
    checkpoint: Checkpoint | None = None,
) -> Trial:
    """One seed, from the checkpoint on if it holds a state of this run."""
    stream = cut(setup, load(setup) if table is None else table, seed)
    with one_thread():
        method, network = setup.method, learner(setup, stream)
        outcome = engine.run(stream, network, method, setup.evaluation, on_step, checkpoint)
        try:
            return Trial(stream, outcome, measure(setup.probe, stream, outcome))
        except ComponentError as failure:  # it must not cost the run
            log.error(failure, exc_info=True)
            return Trial(stream, outcome, {}, failure)


@contextmanager
def one_thread() -> Iterator[None]:
    """The same bits whatever the environment says."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with blas().limit(limits=1):  # that of the compiled loops
            yield
    finally:
        torch.set_num_threads(threads)
