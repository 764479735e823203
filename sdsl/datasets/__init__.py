"""The streams: `load` makes a Table from a dataset section, `check` refuses a wrong one.

A source takes its settings from its entry in `dataset.sources` and from the keys that stand beside
`sources`, such as `dataset.path`; where both have a key, the entry's is used. The first source that
has the rows gives them.
"""

import logging
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from sdsl.config.refusals import invalid, suggest
from sdsl.config.schema import build
from sdsl.config.sections import DataConfig
from sdsl.core.rows import Table
from sdsl.core.settings import settings
from sdsl.core.stream import Cut
from sdsl.datasets.keyframes import RandomPath, Regenerated
from sdsl.datasets.orders import Order, ordered
from sdsl.datasets.shapes import Shapes
from sdsl.datasets.sources import Corpus, Keel, Known, Own, Source
from sdsl.errors import UserError

__all__ = ["check", "load"]

KINDS: dict[str, type[Source]] = {
    **{"known": Known, "corpus": Corpus, "keel": Keel, "own": Own},
    **{"regenerated": Regenerated, "path": RandomPath, "shapes": Shapes},
}


@settings
class Section(Cut):
    """The keys that every dataset section has."""

    name: str
    order: Order
    sources: list[dict[str, Any]]


def load(section: Mapping[str, Any], data: DataConfig) -> Table:
    """The rows of a dataset section in stream order; what was used is logged, never silent."""
    name, order, files = section["name"], section["order"], ""
    for source in check(section):
        if (table := source.load(data)) is None:
            files = files or getattr(source, "files", [""])[0]
            continue
        if order == "chronological" and not source.time_ordered:
            why = f"{table.source} is not in order of time, as dataset.order=chronological needs"
            hint = "Give the original in data.root, set data.download=true, or choose another order"
            raise UserError(f"{name}: {why}. {hint}.")
        log = logging.getLogger(__name__)
        log.info("data %s: %s, %s, %s", name, table.source, table.standing, table.sha256)
        at = ordered(order, table.X, table.y)
        return replace(table, name=name, X=np.ascontiguousarray(table.X[at]), y=table.y[at])
    hint = f"Put {files or 'it'}.csv (or .txt, also with .gz) into data.root (or SDSL_DATA)"
    raise UserError(f"{name}: none of its sources has the data. {hint}, or set data.download=true.")


def check(section: Mapping[str, Any]) -> list[Source]:
    """The section's sources, loading nothing; refuses a section that `load` could not use."""
    known = {field.name for field in fields(Section)}
    checked = build(Section, {key: section[key] for key in section if key in known}, "dataset")
    sources: list[Source] = []
    for i, entry in enumerate(checked.sources):
        where, kind = f"dataset.sources.{i}", str(entry.get("kind"))
        if kind not in KINDS:
            raise UserError(f"{where}.kind={kind:.80} is not known. {suggest(kind, KINDS)}")
        cls, stated = KINDS[kind], {key: entry[key] for key in entry if key != "kind"}
        own = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        known |= own - stated.keys()
        try:
            sources.append(cls(**{key: section[key] for key in section if key in own} | stated))
        except ValidationError as error:
            beside = error.errors()[0]["loc"][0] in section
            raise invalid(error, cls, "dataset" if beside else where) from None
    if unknown := [str(key) for key in section if key not in known]:
        raise UserError(f"dataset has no setting '{unknown[0]}'. {suggest(unknown[0], known)}")
    return sources
