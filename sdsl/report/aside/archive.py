"""The archive's streams, with the accuracies that others published on them (published.yaml)."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd
from omegaconf import OmegaConf

from sdsl.report.aside.table import Aside, rows
from sdsl.report.runs.names import ARCHIVE, METRICS, methods_in_order
from sdsl.report.runs.results import Results

FILE = Path(__file__).with_name("published.yaml")
SEEDS = "mean ± std (n): over n seeds, std with ddof = 1."
DIFFERENCES = (
    f"{SEEDS} No claim of the paper is about these streams. The published rows are accuracies over "
    "the whole stream, in percent, from single runs under another protocol: the first 5 % of the "
    "rows are labelled and settings were partly picked on the stream. Here gold is one segment, "
    "each further segment has a test part that no method sees, and Acc_t is the mean accuracy on "
    "them; one setting serves all streams. So compare the order of methods, not the last digit. "
    "Published: {source}."
)


@dataclass(frozen=True)
class Published:
    """What a publication says of one method: stream -> percent."""

    name: str
    cites: str
    accuracy: Mapping[str, float]


@functools.cache
def published() -> tuple[Published, ...]:
    """Every method of published.yaml."""
    return tuple(
        Published(
            method["name"],
            method["cites"],
            dict(zip(_file()["streams"], method["accuracy"], strict=True)),
        )
        for method in _file()["methods"]
    )


def tables(results: Results) -> Iterator[Aside]:
    """Acc_t with the published numbers, and Acc_T, if a stream of the archive ran."""
    ran = sorted(stream for stream in results.streams() if stream.startswith(ARCHIVE))
    streams = {stream: stream.removeprefix(ARCHIVE) for stream in ran}
    if not streams:
        return
    methods = methods_in_order(results.frame[results.frame.stream.isin(streams)].variant)
    for metric in ("acc_online", "acc_final"):
        found = rows(results, methods, streams, metric)
        note = SEEDS
        if metric == "acc_online":
            note = DIFFERENCES.format(source=_file()["source"])
            found += [
                [f"published: {one.name}; {one.cites}", *(_percent(one, s) for s in streams)]
                for one in published()
            ]
        title = f"The archive: {METRICS[metric]}"
        frame = pd.DataFrame(found, columns=["method", *streams.values()])
        yield Aside(f"archive_{metric}", title, note, frame)


def _percent(one: Published, stream: str) -> str:
    return f"{one.accuracy[stream]:.1f} %" if stream in one.accuracy else "–"


@functools.cache
def _file() -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(FILE)))
