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
from sdsl.datasets.keyframes import RandomPath, Regenerated
from sdsl.datasets.rules import Rules
from sdsl.datasets.shapes import Shapes
from sdsl.datasets.sources import Corpus, Keel, Known, Own, Source
from sdsl.errors import UserError

__all__ = ["check", "load"]

# Which row of a file comes when in the stream; README.md explains the orders.
Order = Literal["file", "chronological", "shuffled", "class_pc1", "class_pc1_raw_flipped"]
SHUFFLE_SEED = 20220814  # fixed: an order is part of the data, independent of the run's seed
KINDS: dict[str, type[Source]] = {
    **{"known": Known, "corpus": Corpus, "keel": Keel, "own": Own},
    **{"regenerated": Regenerated, "path": RandomPath, "shapes": Shapes, "table": Rules},
}


@settings
class Section(Cut):
    """The keys that every dataset section has."""

    name: str
    order: Order
    sources: list[dict[str, Any]]


def load(section: Mapping[str, Any], data: DataConfig) -> Table:
    """The rows of a dataset section in stream order; what was used is logged, never silent."""
    name, order, sources = section["name"], section["order"], check(section)
    for source in sources:
        if (table := source.load(data)) is None:
            continue
        if order == "chronological" and not source.time_ordered:
            why = f"{table.source} is not in order of time, as dataset.order=chronological needs"
            hint = "Give the original in data.root, set data.download=true, or choose another order"
            raise UserError(f"{name}: {why}. {hint}.")
        log = logging.getLogger(__name__)
        log.info("data %s: %s, %s, %s", name, table.source, table.standing, table.sha256)
        at = ordered(order, table.X, table.y)
        return replace(table, name=name, X=np.ascontiguousarray(table.X[at]), y=table.y[at])
    hint = next(filter(None, (source.hint() for source in reversed(sources))), "")
    raise UserError(f"{name}: none of its sources has the data. {hint}")


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


def ordered(order: Order, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Row indices [N] of X [N, d] and y [N]."""
    if order in ("file", "chronological"):
        return np.arange(len(y))
    if order == "shuffled":
        return np.random.default_rng(SHUFFLE_SEED).permutation(len(y))
    X, raw = X.astype(np.float64), order == "class_pc1_raw_flipped"
    spread = X.std(axis=0)  # 0: of a constant feature
    Z = X if raw else (X - X.mean(axis=0)) / np.where(spread == 0, 1, spread)
    q = np.empty(len(y))  # each row's quantile within its class
    present, counts = np.unique(y, return_counts=True)
    by_class = np.split(np.argsort(y, kind="stable"), np.cumsum(counts)[:-1])
    for c, rows in zip(present, by_class, strict=True):
        along = _first_component(Z[rows]) * (-1 if raw and c % 2 else 1)
        rank = np.empty(len(rows))
        rank[np.argsort(along, kind="stable")] = np.arange(len(rows))
        q[rows] = (rank + 0.5) / len(rows)
    return np.lexsort((y, q))  # equal quantiles: lower class first


def _first_component(Z: np.ndarray) -> np.ndarray:
    """Projection on the leading eigenvector, its largest loading made positive."""
    Z = Z - Z.mean(axis=0)
    axis = np.linalg.eigh(Z.T @ Z)[1][:, -1]
    axis = axis * np.sign(axis[np.argmax(np.abs(axis))])
    # Rounded, so that rows equal up to the last bits tie, and fall in file order, on any machine.
    return np.round(Z @ axis, 9)
