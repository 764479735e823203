"""Loads a dataset: tries its sources in order, checks that it is a stream, applies its order."""

import logging
from collections.abc import Mapping

import numpy as np

from sdsl.core.table import Table
from sdsl.config.schema import DataConfig
from sdsl.datasets.orders import order
from sdsl.datasets.sources import KINDS, Raw
from sdsl.errors import UserError

log = logging.getLogger(__name__)


def load(dataset: Mapping, data: DataConfig) -> Table:
    """The first of `dataset.sources` that has the data; what was used is logged, never silent."""
    raw, source = _first_source(dataset, data)
    if dataset["order"] == "chronological" and not source.get("time_ordered"):
        raise UserError(
            f"{dataset['name']}: {raw.source} is not in order of time, so dataset.order="
            "chronological is not possible. Give the original file in data.root, set "
            "data.download=true, or choose another order."
        )
    rows = raw.rows
    at = order(dataset["order"], rows.X, rows.y)
    table = Table(
        name=dataset["name"],
        X=np.ascontiguousarray(rows.X[at], dtype=np.float32),
        y=rows.y[at].astype(np.int64),
        classes=rows.classes,
        source=raw.source,
        standing=raw.standing,
        sha256=raw.sha256,
    )
    log.info("data %s: %s, %s, SHA-256 %s", table.name, table.source, table.standing, table.sha256)
    return table


def _first_source(dataset: Mapping, data: DataConfig) -> tuple[Raw, Mapping]:
    for source in dataset["sources"]:
        settings = {**dataset, **source}
        if source["kind"] not in KINDS:
            raise UserError(
                f"{dataset['name']}: unknown source kind {source['kind']!r}; known: "
                f"{', '.join(KINDS)}."
            )
        if (raw := KINDS[source["kind"]](settings, data)) is not None:
            return raw, source
    raise UserError(
        f"{dataset['name']}: none of its sources has the data. Put the file into data.root "
        "(or SDSL_DATA) or set data.download=true."
    )
