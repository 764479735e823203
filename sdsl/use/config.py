"""The settings of `python -m sdsl.label` beside those of a method: where files are."""

import codecs
from collections.abc import Mapping
from dataclasses import fields, make_dataclass
from typing import Annotated, Any, Literal

from hydra.core.config_store import ConfigStore
from pydantic import BeforeValidator, Field

from sdsl.config import sections
from sdsl.core.settings import Count, Positive, Share, settings
from sdsl.errors import UserError

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
    keep: Texts
    encoding: Text
    watch: bool
    every: Annotated[float, Field(ge=0.1)]
    strict: bool
    abstain: Share
    ask: Count
    ask_by: Literal["random", "doubt"]
    checked: Text | None
    learn: bool


NAMES = [field.name for field in fields(LabelSettings)]
TEXTS = ("gold", "files", "label", "out", "drop", "use", "keep", "checked")
# Hydra knows these names beside the sections of config.yaml; LabelSettings checks the values.
Label = make_dataclass("Label", [(name, Any) for name in NAMES], bases=(sections.Config,))
Label.__module__ = __name__  # launchers pickle what Hydra knows
ConfigStore.instance().store(name="label_sections", node=Label)


def label_settings(config: Mapping[str, Any]) -> tuple[LabelSettings, int]:
    """(settings, seed) of a composed config."""
    from sdsl.config.schema import build

    given = {name: config[name] for name in NAMES}
    if missing := [name for name, value in given.items() if value == "???"]:
        expected = "Expected gold=FILE files=FILES label=COLUMN out=FOLDER."
        raise UserError(f"{missing[0]}= is missing. {expected}")
    if len(seeds := config["seed"]["values"]) != 1 or seeds[0] < 0:
        raise UserError(f"seed={seeds}: expected one whole number, 0 or more.")
    try:
        given["encoding"] = codecs.lookup(str(given["encoding"])).name
        "".encode(given["encoding"])
    except LookupError as error:
        raise UserError(f"{error}. Expected encoding=latin-1, cp1252, utf-16, ...") from None
    return build(LabelSettings, given, "sdsl.label"), seeds[0]
