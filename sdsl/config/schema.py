"""A config as typed objects: `setup` checks every section and builds every part, once.

What it returns is what runs, is logged and is verified; nothing is loaded or trained here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sdsl.config.build import build
from sdsl.config.identity import RUN, SCREEN
from sdsl.config.registry import make
from sdsl.config.suggest import suggest
from sdsl.core.contract import Labeler, Method, Replay
from sdsl.core.evaluation import EvalConfig
from sdsl.core.fields import choice, number, setting
from sdsl.core.lookback import Lookback
from sdsl.core.probe import Probe
from sdsl.core.stream import Cut, StreamConfig
from sdsl.core.training import Training
from sdsl.errors import UserError

SWITCHES = ("fuse", "force")
LATER = ("checkpoint",)  # runs that older versions logged have no such section
SECTIONS = (*RUN, "data", "seed", "tracking", *LATER, *SWITCHES)


@dataclass
class LearnerConfig:
    hidden: list[int]  # widths of the encoder's layers; 0 stands for RECORD's rule
    pretrain: Training


@dataclass
class SeedConfig:
    values: list[int]


@dataclass
class MethodConfig:
    name: str


@dataclass
class DatasetConfig(Cut):
    """What every dataset section has; the rest belongs to its source."""

    name: str = setting()
    order: str = setting()


@dataclass
class DataConfig:
    """Where data files are looked for."""

    root: str | None
    download: bool
    cache: str | None


@dataclass
class TrackingConfig:
    experiment: str
    uri: str | None
    model: bool  # log the final classifier of each run as an MLflow model


@dataclass
class CheckpointConfig:
    """How often the state of a run is written, so that it goes on after a stop."""

    seconds: float | None = number(low=0)


@dataclass
class SwitchConfig:
    fuse: bool
    force: bool


@dataclass
class ScreenConfig:
    sort: str = choice("typed", "acc_t", "acc_T")


@dataclass(frozen=True)
class Setup:
    """A config, checked and built."""

    config: Mapping[str, Any]  # as it is logged and hashed
    name: str  # of the method
    dataset: DatasetConfig
    data: DataConfig
    stream: StreamConfig
    hidden: list[int]
    method: Method
    evaluation: EvalConfig
    probe: Probe
    seeds: list[int]
    tracking: TrackingConfig
    checkpoint: CheckpointConfig
    fuse: bool
    force: bool


def setup(config: Mapping[str, Any]) -> Setup:
    """Every name, type and range of the config, before anything is loaded or recorded."""
    _check_sections(config)
    seeds = build(SeedConfig, config["seed"], "seed").values
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise UserError(f"seed.values={seeds}: expected distinct integers, none negative.")
    learner = build(LearnerConfig, config["learner"], "learner")
    if min(learner.hidden, default=0) < 0:
        raise UserError(f"learner.hidden={learner.hidden}: a width cannot be negative.")
    cut = {f.name for f in fields(DatasetConfig)}
    dataset = {key: value for key, value in config["dataset"].items() if key in cut}
    stream = build(StreamConfig, config["stream"], "stream")
    labeler = make("labeler", config["labeler"], Labeler)
    replay = make("replay", config["replay"], Replay)
    if stream.scaler == "running":
        _check_units(labeler, replay)
    tracking = build(TrackingConfig, config["tracking"], "tracking")
    if tracking.model and labeler.privileged:
        raise UserError(
            f"tracking.model=true: labeler={config['labeler']['name']} reads true labels, so what "
            "it leaves cannot be used on new rows. Leave tracking.model out, or choose a method "
            "that reads none."
        )
    switches = build(SwitchConfig, {key: config[key] for key in SWITCHES}, "config")
    return Setup(
        config=config,
        name=build(MethodConfig, config["method"], "method").name,
        dataset=build(DatasetConfig, dataset, "dataset"),
        data=build(DataConfig, config["data"], "data"),
        stream=stream,
        hidden=learner.hidden,
        method=Method(
            labeler,
            replay,
            build(Lookback, config["lookback"], "lookback"),
            learner.pretrain,
        ),
        evaluation=build(EvalConfig, config["eval"], "eval"),
        probe=make("probe", config["probe"], Probe),
        seeds=seeds,
        tracking=tracking,
        checkpoint=build(
            CheckpointConfig, config.get("checkpoint", {"seconds": None}), "checkpoint"
        ),
        fuse=switches.fuse,
        force=switches.force,
    )


def _check_sections(config: Mapping[str, Any]) -> None:
    if shown := {key: config[key] for key in SCREEN if key in config}:
        build(ScreenConfig, shown, "config")
    if inside := set(config.get("method") or ()) & {*SECTIONS, "defaults"}:
        raise UserError(
            f"The method's file sets {', '.join(sorted(inside))} inside the section 'method'. A "
            "method sets values of other sections: let its first line be '# @package _global_'."
        )
    for key in config:
        if key not in (*SECTIONS, *SCREEN):
            raise UserError(f"The config has no section '{key}'. {suggest(str(key), SECTIONS)}")
    for key in SECTIONS:
        if key in LATER and key not in config:
            continue
        if key not in SWITCHES and not isinstance(config.get(key), Mapping):
            raise UserError(f"The section '{key}' must hold settings, not {config.get(key)!r}.")


def _check_units(labeler: Labeler, replay: Replay) -> None:
    for part in (labeler, replay):
        if part.own_units():
            raise UserError(
                f"stream.scaler=running does not work with {type(part).__name__}, which keeps rows "
                "or parameters of its own in scaled units. Set stream.scaler=frozen."
            )
