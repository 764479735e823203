"""The sections of config.yaml as structured configs: Hydra refuses other names and other types.

This happens before anything is loaded, and for every job of a sweep before the first one starts.
No field has a default, as YAML is the only home of a value.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from hydra.core.config_store import ConfigStore
from pydantic import Field

from sdsl.core.settings import Count, Weight, settings


@settings
class DataConfig:
    """The folders of data files, and whether to fetch them."""

    root: str | None
    download: bool
    cache: str | None


@settings
class LearnerConfig:
    hidden: list[Count]  # widths of the encoder's layers; 0 stands for RECORD's rule
    pretrain: Any  # a core.training.Training


@settings
class MethodConfig:
    name: str


@settings
class SeedConfig:
    values: Annotated[list[Count], Field(min_length=1)]


@settings
class TrackingConfig:
    experiment: str
    uri: str | None
    model: bool  # log the final classifier of each run as an MLflow model


@settings
class CheckpointConfig:
    seconds: Weight | None  # between two writes of a run's state


@dataclass
class Config:
    """All sections; what a user adds with `+note=hi` or `+tags.owner=me` goes to MLflow."""

    dataset: Any  # Cut, and what its sources need
    data: DataConfig
    stream: Any  # the sections that are Any are checked by classes that load torch: see schema.py
    learner: LearnerConfig
    lookback: Any
    labeler: Any
    replay: Any
    method: MethodConfig
    seed: SeedConfig
    probe: Any
    eval: Any
    tracking: TrackingConfig
    checkpoint: CheckpointConfig
    force: bool


ConfigStore.instance().store(name="sections", node=Config)
