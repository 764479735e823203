"""Loads a dataset: tries its sources in order, checks that it is a stream, applies its order."""

import logging
from collections.abc import Mapping

import numpy as np

from sdsl.datasets.orders import order
from sdsl.datasets.sources import KINDS, Raw
from sdsl.errors import UserError
from sdsl.table import Table

log = logging.getLogger(__name__)


def load(dataset: Mapping, data: Mapping) -> Table:
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
    _check_stream(table, dataset)
    log.info("data %s: %s, %s, SHA-256 %s", table.name, table.source, table.standing, table.sha256)
    return table


def _first_source(dataset: Mapping, data: Mapping) -> tuple[Raw, Mapping]:
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


def _check_stream(table: Table, dataset: Mapping) -> None:
    """What every method needs: two classes, two segments, and each class in the gold segment."""
    size, test = dataset["segment_size"], dataset["test_size"]
    if not 0 < test < size:
        raise UserError(
            f"{table.name}: dataset.test_size={test} must be above 0 and below "
            f"dataset.segment_size={size}."
        )
    if len(table.classes) < 2:
        raise UserError(
            f"{table.name} ({table.source}): one class only ({table.classes[0]!r}); expected at "
            "least two. Is dataset.label the right column?"
        )
    if len(table.y) < 2 * size:
        raise UserError(
            f"{table.name} ({table.source}): {len(table.y)} rows are fewer than two segments of "
            f"{size}: one gives the gold set, the others the stream. Lower dataset.segment_size."
        )
    absent = sorted(set(range(len(table.classes))) - set(table.y[:size].tolist()))
    if absent:
        names = ", ".join(table.classes[c] for c in absent[:10])
        raise UserError(
            f"{table.name} ({table.source}): no row of class {names} among the first {size} rows, "
            "which give the gold set; a class without a gold label can never be predicted. Raise "
            "dataset.segment_size or choose another dataset.order."
        )
