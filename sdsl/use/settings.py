"""The settings of `python -m sdsl.label`: conf/label.yaml, and key=value on the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import OmegaConf

from sdsl.config.build import build
from sdsl.config.home import home
from sdsl.config.suggest import suggest
from sdsl.core.fields import number, setting
from sdsl.errors import UserError
from sdsl.use.sections import SECTIONS

NEEDED = ("gold", "files", "label", "out")
LISTS = ("gold", "files", "drop", "use")
TYPED = ("seed", "segment_size", "watch", "every")  # the others are text


@dataclass
class Tracking:
    experiment: str = setting()
    uri: str | None = setting()


@dataclass
class LabelSettings:
    """See conf/label.yaml."""

    gold: list[str] = setting()
    files: list[str] = setting()
    label: str = setting()
    out: str = setting()
    method: str | None = setting()
    seed: int = number(low=0)
    config_dir: str | None = setting()
    segment_size: int | None = number(low=1)
    drop: list[str] = setting()
    use: list[str] = setting()
    watch: bool = setting()
    every: float = number(low=0.1)
    tracking: Tracking = setting()


def read(words: Sequence[str]) -> tuple[LabelSettings, dict[str, Any]]:
    """(settings, overrides of the method) of a command line; refuses in one sentence."""
    shipped = OmegaConf.load(home() / "conf" / "label.yaml")
    values: dict[str, Any] = OmegaConf.to_container(shipped, resolve=True)  # type: ignore[assignment]
    overrides: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise UserError(f"Cannot read '{word}': expected key=value.")
        if key.startswith(SECTIONS):
            overrides[key] = _setting(word)
        else:
            _set(values, key, _setting(word) if key in TYPED else _text(key, text))
    for key in NEEDED:
        if values[key] == "???":
            raise UserError(
                f"{key}= is missing. Expected gold=FILE files=FILES label=COLUMN out=DIR."
            )
    for key in LISTS:
        given = values[key]
        values[key] = [str(v) for v in given] if isinstance(given, list) else [str(given)]
    for key in ("label", "out"):
        values[key] = str(values[key])
    return build(LabelSettings, values, "sdsl.label"), overrides


def _set(values: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    section: Any = values
    for part in path:
        section = section.get(part) if isinstance(section, Mapping) else None
    if not isinstance(section, dict) or last not in section:
        known = [*values, *(f"tracking.{name}" for name in values["tracking"])]
        raise UserError(
            f"There is no setting '{key}'. {suggest(key, known)} Settings of the method begin with "
            f"{', '.join(f'{name}.' for name in SECTIONS[:-1])} or are stream.scaler."
        )
    section[last] = value


def _text(key: str, text: str) -> Any:
    """A list for what takes several, null, or the text as it stands: a glob is no YAML."""
    if key in LISTS and text.startswith("[") and text.endswith("]"):
        items = [item.strip().strip("'\"") for item in text[1:-1].split(",")]
        return [item for item in items if item]
    return None if text == "null" else text


def _setting(word: str) -> Any:
    """A value as `python -m sdsl.run` would read it."""
    try:
        return OverridesParser.create().parse_override(word).value()
    except HydraException as error:
        first = str(error).strip().splitlines()[0]
        raise UserError(f"Cannot read '{word}': {first}. Expected key=value.") from None
