"""The settings of `python -m sdsl.label`, explained in conf/command/label.yaml."""

from collections.abc import Mapping
from dataclasses import fields, make_dataclass
from typing import Annotated, Any

from hydra.core.config_store import ConfigStore
from pydantic import BeforeValidator, Field

from sdsl.config.sections import Config
from sdsl.core.settings import Positive, settings
from sdsl.errors import UserError

Text = Annotated[str, BeforeValidator(str)]
Texts = Annotated[list[Text], BeforeValidator(lambda v: v if isinstance(v, list) else [v])]


@settings
class LabelSettings:
    gold: Texts
    files: Texts
    label: Text
    out: Text
    segment_size: Positive | None
    drop: Texts
    use: Texts
    watch: bool
    every: Annotated[float, Field(ge=0.1)]


NAMES = [field.name for field in fields(LabelSettings)]  # type: ignore[arg-type]
TEXTS = ("gold", "files", "label", "out", "drop", "use")
# Hydra knows these names beside the sections of config.yaml; LabelSettings checks the values.
node = make_dataclass("LabelConfig", [(name, Any) for name in NAMES], bases=(Config,))
ConfigStore.instance().store(name="label_sections", node=node)


def checked(config: Mapping[str, Any]) -> tuple[LabelSettings, int]:
    """(settings, seed) of a composed config; refuses in one sentence."""
    from sdsl.config.schema import build  # loads torch

    if missing := [name for name in NAMES if config[name] == "???"]:
        raise UserError(
            f"{missing[0]}= is missing. Expected gold=FILE files=FILES label=COLUMN out=FOLDER."
        )
    if len(seeds := config["seed"]["values"]) != 1 or seeds[0] < 0:
        raise UserError(f"seed={seeds}: expected one whole number, 0 or more.")
    given = build(LabelSettings, {name: config[name] for name in NAMES}, "sdsl.label")
    return given, seeds[0]
