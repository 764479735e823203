"""The name of a run: its method and its dataset, with the settings that were typed.

`method=ours lookback.size=20 dataset=spam stream.max_segments=3` is called
'ours (lookback.size=20) · spam · max_segments=3'. The table on the screen, MLflow and the report
use the same names.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdsl.config.schema import Setup

# The scaler stands in the section of the stream, but makes another method.
METHOD = ("ablation", "labeler", "replay", "learner", "lookback", "stream.scaler")
STREAM = ("dataset", "stream")
# How much of a stream, and how it is measured.
SETTING = ("probe", "eval", "stream.gold", "stream.jitter", "stream.prefix", "stream.max_segments", "dataset.calibrated_segments")


@dataclass(frozen=True)
class Names:
    """The name of a config in its three parts."""

    variant: str  # 'ours (lookback.size=20)'
    stream: str  # 'spam (order=chronological)'
    setting: str  # '', 'max_segments=3, probe=flatness'

    def __str__(self) -> str:
        return " · ".join(filter(None, (self.variant, self.stream, self.setting)))


def names(setup: "Setup") -> Names:
    """From the method's name, the dataset's, and the typed overrides by section."""
    typed = dict(_split(word) for word in setup.overrides)
    chosen = {key: value for key, value in typed.items() if key not in ("method", "dataset")}
    own = {key for key in chosen if _below(key, METHOD)}
    setting = {key for key in chosen if _below(key, SETTING)}
    stream = {key for key in chosen if _below(key, STREAM)} - own - setting

    def listed(keys: Iterable[str], drop: str = "") -> str:
        return ", ".join(f"{key.removeprefix(drop)}={chosen[key]}" for key in sorted(keys))

    return Names(
        _with(setup.name, listed(own)),
        _with(setup.config["dataset"]["name"], listed(stream, "dataset.")),
        listed(setting, "stream."),
    )


def _split(word: str) -> tuple[str, str]:
    """'+labeler.rounds=2' -> ('labeler.rounds', '2')"""
    key, _, value = word.lstrip("+~").partition("=")
    return key, value


def _below(key: str, sections: Iterable[str]) -> bool:
    return any(
        key == section or key.startswith((f"{section}.", f"{section}@")) for section in sections
    )


def _with(name: str, settings: str) -> str:
    return f"{name} ({settings})" if settings else name
