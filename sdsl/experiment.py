"""From a config to an outcome: build the stream and the parts, run the engine, probe the result."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import torch

from sdsl import datasets, engine
from sdsl.component import build, make, number, suggest
from sdsl.contract import Labeler, Replay
from sdsl.engine import EvalConfig, Outcome
from sdsl.errors import UserError
from sdsl.learner import Learner, Training
from sdsl.lookback import Lookback
from sdsl.probes import Probe
from sdsl.stream import Stream, StreamConfig
from sdsl.table import Table

# What a run's numbers depend on; the rest of the config is where and how it runs.
IDENTITY = (
    "dataset",
    "stream",
    "learner",
    "labeler",
    "replay",
    "lookback",
    "method",
    "eval",
    "probe",
)
SECTIONS = (*IDENTITY, "data", "seed", "tracking", "fuse", "force")


@dataclass
class LearnerConfig:
    hidden: list[int] = field(default_factory=lambda: [100, 100])
    pretrain: Training = field(default_factory=Training)

    def sizes(self, d: int, C: int) -> tuple[int, ...]:
        return (d, *(h or int(1.5 * (d + C)) for h in self.hidden), C)


@dataclass
class SeedConfig:
    values: list[int] = field(default_factory=lambda: [0])


@dataclass
class MethodConfig:
    name: str = "unnamed"


@dataclass
class CutConfig:
    """What every dataset section has; the rest is its loader's."""

    name: str = "unnamed"
    segment_size: int = number(1000, low=2)
    test_size: int = number(300, low=1)
    gold_per_class: int | None = number(None, low=1)
    calibrated_segments: int | None = number(None, low=1)
    order: str = "file"


@dataclass
class DataConfig:
    root: str | None = None
    download: bool = False
    cache: str | None = None


@dataclass
class TrackingConfig:
    experiment: str = "sdsl"
    uri: str | None = None


@dataclass
class SwitchConfig:
    fuse: bool = True
    force: bool = False


@dataclass(frozen=True)
class Parts:
    """A config, checked and built; nothing has been loaded or trained yet."""

    stream: StreamConfig
    learner: LearnerConfig
    labeler: Labeler
    replay: Replay
    lookback: Lookback
    evaluation: EvalConfig
    probe: Probe


def check(config: Mapping[str, Any]) -> Parts:
    """Every name, type and range of the config, before anything is loaded or trained."""
    for key in config:
        if key not in SECTIONS:
            raise UserError(f"The config has no section '{key}'. {suggest(str(key), SECTIONS)}")
    for key in SECTIONS[:-2]:  # fuse and force are plain values
        if not isinstance(config.get(key), Mapping):
            raise UserError(f"The section '{key}' must hold settings, not {config.get(key)!r}.")
    seeds = build(SeedConfig, config["seed"], "seed").values
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise UserError(f"seed.values={seeds}: expected distinct integers, none negative.")
    build(MethodConfig, config["method"], "method")
    cut = {f.name for f in fields(CutConfig)}
    build(CutConfig, {k: v for k, v in config["dataset"].items() if k in cut}, "dataset")
    build(DataConfig, config["data"], "data")
    build(TrackingConfig, config["tracking"], "tracking")
    build(SwitchConfig, {key: config[key] for key in ("fuse", "force")}, "config")
    learner = build(LearnerConfig, config["learner"], "learner")
    if min(learner.hidden, default=0) < 0:
        raise UserError(f"learner.hidden={learner.hidden}: a width cannot be negative.")
    return Parts(
        build(StreamConfig, config["stream"], "stream"),
        learner,
        make("labeler", config["labeler"], Labeler),
        make("replay", config["replay"], Replay),
        build(Lookback, config["lookback"], "lookback"),
        build(EvalConfig, config["eval"], "eval"),
        make("probe", config["probe"], Probe),
    )


def load(config: Mapping[str, Any]) -> Table:
    return datasets.load(config["dataset"], config["data"])


def run(
    config: Mapping[str, Any],
    seeds: Sequence[int],
    table: Table | None = None,
    on_step: Callable[[int, float], None] = lambda t, online: None,
) -> tuple[Stream, Outcome, dict[str, np.ndarray]]:
    """The stream, what the engine left, and the probe's curves (name -> [S, points])."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same bits whatever the environment says
    try:
        parts = check(config)
        stream = Stream(table or load(config), config["dataset"], parts.stream, seeds)
        learner = Learner(parts.learner.sizes(stream.d, stream.C), seeds)
        outcome = engine.run(
            stream,
            learner,
            parts.labeler,
            parts.replay,
            parts.lookback,
            parts.learner.pretrain,
            parts.evaluation,
            on_step,
        )
        return stream, outcome, parts.probe.measure(stream, outcome)
    finally:
        torch.set_num_threads(threads)


def digest(table: Table) -> str:
    """SHA-256 of the rows as the stream uses them: catches a changed file and a changed order."""
    h = hashlib.sha256(np.ascontiguousarray(table.X))
    h.update(np.ascontiguousarray(table.y))
    return h.hexdigest()
