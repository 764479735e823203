"""The configs of StreamClassifier and of `python -m sdsl.label`: a method, and where files are."""

import json
from collections.abc import Mapping
from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any

from hydra.core.config_store import ConfigStore
from pydantic import BeforeValidator, Field

from sdsl.config import composed, sections
from sdsl.config.refusals import REFUSED, message
from sdsl.core.settings import Positive, settings
from sdsl.errors import UserError

# The settings that a stream without labels has; the others belong to an evaluation.
METHOD = ("labeler", "replay", "lookback", "learner", "stream.scaler")
Text = Annotated[str, BeforeValidator(str)]
Texts = Annotated[list[Text], BeforeValidator(lambda v: v if isinstance(v, list) else [v])]


@settings
class LabelSettings:
    """Explained in conf/command/label.yaml."""

    gold: Texts
    files: Texts
    label: Text
    out: Text
    segment_size: Positive | None
    drop: Texts
    use: Texts
    watch: bool
    every: Annotated[float, Field(ge=0.1)]


NAMES = [field.name for field in fields(LabelSettings)]
TEXTS = ("gold", "files", "label", "out", "drop", "use")
# Hydra knows these names beside the sections of config.yaml; LabelSettings checks the values.
node = make_dataclass("Label", [(name, Any) for name in NAMES], bases=(sections.Config,))
ConfigStore.instance().store(name="label_sections", node=node)


def label_settings(config: Mapping[str, Any]) -> tuple[LabelSettings, int]:
    """(settings, seed) of a composed config."""
    from sdsl.config.schema import build

    given = {name: config[name] for name in NAMES}
    if missing := [name for name, value in given.items() if value == "???"]:
        expected = "Expected gold=FILE files=FILES label=COLUMN out=FOLDER."
        raise UserError(f"{missing[0]}= is missing. {expected}")
    if len(seeds := config["seed"]["values"]) != 1 or seeds[0] < 0:
        raise UserError(f"seed={seeds}: expected one whole number, 0 or more.")
    return build(LabelSettings, given, "sdsl.label"), seeds[0]


def method_config(
    method: str, overrides: Mapping[str, Any] | None, config_dir: str | Path | None
) -> dict[str, Any]:
    """The config that `python -m sdsl.run` would compose; refuses settings without effect."""
    overrides, folder = overrides or {}, config_dir and Path(config_dir).expanduser()
    for key in overrides:
        if not key.startswith(METHOD):
            expected = f"expected settings of {', '.join(METHOD)}"
            raise UserError(f"overrides: '{key}' has no effect without labels; {expected}.")
    if folder and not folder.is_dir():
        raise UserError(f"config_dir={config_dir}: no such folder.")
    words = [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in overrides.items()]
    try:
        return composed(f"method={method}", *words, config_dir=str(folder) if folder else None)
    except REFUSED as error:
        raise UserError(message(error)) from None
