"""When two configs are the same: the settings that a run's numbers depend on, named once.

A run is its method on its stream, measured in some way. The ledger asks for all three; the report
puts runs of one method on one stream into one cell of a table, however they were measured.
"""

from collections.abc import Mapping
from typing import Any

METHOD = ("method", "learner", "labeler", "replay", "lookback")
STREAM = ("dataset", "stream")
MEASURED = ("eval", "probe")
RUN = (*STREAM, *METHOD, *MEASURED)
SCREEN = ("sort",)  # how results are shown: no part of what is run, logged or verified
# Where rows come from; the SHA-256 of the rows themselves says what they are.
WHERE_FROM = ("dataset.sources", "dataset.expect")


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{'learner': {'hidden': [100]}} -> {'learner.hidden': [100]}"""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def settings(flat: Mapping[str, Any], sections: tuple[str, ...] = RUN) -> dict[str, Any]:
    """Of a flat config (or of logged params) what belongs to these sections, provenance aside."""
    return {
        key: value
        for key, value in flat.items()
        if key.partition(".")[0] in sections and not key.startswith(WHERE_FROM)
    }
