"""The streams: `load` makes a Table from a dataset section, `check` refuses a wrong one.

A source takes its settings from its entry in `dataset.sources` and from the keys that stand beside
`sources`, such as `dataset.path`; where both have a key, the entry's is used. The first source that
has the rows gives them.
"""

import logging
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal

import numpy as np
from pydantic import ValidationError

from sdsl.config.refusals import invalid, suggest
from sdsl.config.schema import build
from sdsl.config.sections import DataConfig
from sdsl.core.rows import Table
from sdsl.core.settings import settings
from sdsl.core.stream import Cut
from sdsl.datasets import sources
from sdsl.datasets.orders import ORDERS, ordered
from sdsl.datasets.own import Own
from sdsl.datasets.sources import Source
from sdsl.errors import UserError

__all__ = ["check", "load"]
KINDS: dict[str, type[Source]] = {
    "known": sources.Known,
    "corpus": sources.Corpus,
    "keel": sources.Keel,
    "regenerated": sources.Regenerated,
    "path": sources.RandomPath,
    "shapes": sources.Shapes,
    "own": Own,
}
log = logging.getLogger(__name__)


@settings
class Section(Cut):
    """The keys that every dataset section has."""

    name: str
    order: Literal[ORDERS]
    sources: list[dict[str, Any]]


def load(section: Mapping[str, Any], data: DataConfig) -> Table:
    """The rows of a dataset section in stream order; what was used is logged, never silent."""
    for source in check(section):
        if (table := source.load(data)) is None:
            continue
        order = section["order"]
        if order == "chronological" and not source.time_ordered:
            raise UserError(
                f"{table.name}: {table.source} is not in order of time, so dataset.order="
                "chronological is not possible. Give the original file in data.root, set "
                "data.download=true, or choose another order."
            )
        at = ordered(order, table.X, table.y)
        log.info("data %s: %s, %s, %s", table.name, table.source, table.standing, table.sha256)
        return replace(table, X=np.ascontiguousarray(table.X[at]), y=table.y[at])
    raise UserError(
        f"{section['name']}: none of its sources has the data. Put the file into data.root (or "
        "SDSL_DATA), or set data.download=true."
    )


def check(section: Mapping[str, Any]) -> list[Source]:
    """The section's sources, loading nothing; refuses a section that `load` could not use."""
    names = _names(Section)
    checked = build(Section, {key: section[key] for key in section if key in names}, "dataset")
    found: list[Source] = []
    for i, entry in enumerate(checked.sources):
        kind, entry = entry.get("kind"), {key: entry[key] for key in entry if key != "kind"}
        if kind not in KINDS:
            raise UserError(
                f"dataset.sources.{i}.kind={kind!r:.80} is not known. {suggest(str(kind), KINDS)}"
            )
        own = _names(KINDS[kind])
        names |= own - entry.keys()
        try:
            found.append(KINDS[kind](**{k: section[k] for k in section if k in own} | entry))
        except ValidationError as error:
            beside = error.errors()[0]["loc"][0] in section
            where = "dataset" if beside else f"dataset.sources.{i}"
            raise invalid(error, KINDS[kind], where) from None
    for key in section:
        if key not in names:
            raise UserError(f"dataset has no setting '{key}'. {suggest(str(key), names)}")
    return found


def _names(cls: type) -> set[str]:
    return {field.name for field in fields(cls)}
