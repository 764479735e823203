"""Loads a dataset: takes the first source that has it, and puts the rows in stream order."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sdsl.core.table import Table
from sdsl.datasets.orders import ORDERS
from sdsl.datasets.section import Dataset, read_section
from sdsl.datasets.source import Raw
from sdsl.errors import UserError

if TYPE_CHECKING:  # at run time it would bring torch along
    from sdsl.config.schema import DataConfig

log = logging.getLogger(__name__)


def load(section: Mapping[str, Any], data: "DataConfig") -> Table:
    """The rows of a dataset section in stream order; what was used is logged, never silent."""
    dataset = read_section(section)
    raw = _first(dataset, data)
    at = ORDERS[dataset.order](raw.rows.X, raw.rows.y)
    table = Table(
        name=dataset.name,
        X=np.ascontiguousarray(raw.rows.X[at], dtype=np.float32),
        y=raw.rows.y[at].astype(np.int64),
        classes=raw.rows.classes,
        source=raw.source,
        standing=raw.standing,
        sha256=raw.sha256,
        features=raw.rows.features,
        notes=raw.rows.notes,
    )
    log.info("data %s: %s, %s, SHA-256 %s", table.name, table.source, table.standing, table.sha256)
    return table


def _first(dataset: Dataset, data: "DataConfig") -> Raw:
    for source in dataset.sources:
        if (raw := source.load(data)) is None:
            continue
        if dataset.order == "chronological" and not source.time_ordered:
            raise UserError(
                f"{dataset.name}: {raw.source} is not in order of time, so dataset.order="
                "chronological is not possible. Give the original file in data.root, set "
                "data.download=true, or choose another order."
            )
        return raw
    advice = dict.fromkeys(a for source in dataset.sources if (a := source.advice()))
    raise UserError(f"{dataset.name}: none of its sources has the data; {', or '.join(advice)}.")
