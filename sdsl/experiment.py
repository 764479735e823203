"""The one way from a config to an outcome, for commands and notebooks alike.

from sdsl.api import composed, run, setup
trial = run(setup(composed("method=ours", "dataset=satimage")), seeds=[0, 1])
trial.outcome.R  # [seeds, T + 1, T]
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sdsl import datasets
from sdsl.config import schema
from sdsl.config.schema import Setup
from sdsl.core import engine
from sdsl.core.checkpoint import NoCheckpoint
from sdsl.core.compiled import blas
from sdsl.core.engine import OnStep, Outcome
from sdsl.core.learner import Learner
from sdsl.core.network import layer_sizes
from sdsl.core.room import refuse_large_network
from sdsl.core.stream import Stream
from sdsl.core.table import Table


@dataclass(frozen=True)
class Trial:
    """A finished run of S seeds: its stream, what the engine left, and the probe's curves."""

    stream: Stream
    outcome: Outcome
    probed: dict[str, np.ndarray]  # name -> [S, points]


def setup(config: Mapping[str, Any]) -> Setup:
    """Every section checked and every part built, before anything is loaded or recorded."""
    made = schema.setup(config)
    datasets.check(config["dataset"])
    return made


def load(setup: Setup) -> Table:
    """The rows of the setup's dataset, in stream order."""
    return datasets.load(setup.config["dataset"], setup.data)


def cut(setup: Setup, table: Table, seeds: Sequence[int]) -> Stream:
    """The table as a stream of gold, segments and test parts; refuses what cannot be one."""
    stream = Stream(table, setup.dataset, setup.stream, seeds)
    refuse_large_network(layer_sizes(stream.d, setup.hidden, stream.C), len(stream.seeds))
    return stream


def run(
    setup: Setup,
    seeds: Sequence[int] | None = None,
    table: Table | None = None,
    on_step: OnStep = lambda t, online: None,
) -> Trial:
    """Run the seeds (the setup's own, if none are given) side by side."""
    seeds = setup.seeds if seeds is None else seeds
    return run_on(setup, cut(setup, load(setup) if table is None else table, seeds), on_step)


def run_on(
    setup: Setup,
    stream: Stream,
    on_step: OnStep = lambda t, online: None,
    checkpoint: NoCheckpoint | None = None,
) -> Trial:
    """The same on a stream that is cut already."""
    with one_thread():
        learner = Learner(layer_sizes(stream.d, setup.hidden, stream.C), stream.seeds)
        kept = checkpoint or engine.NO_CHECKPOINT
        outcome = engine.run(stream, learner, setup.method, setup.evaluation, on_step, kept)
        return Trial(stream, outcome, setup.probe.measure(stream, outcome))


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
