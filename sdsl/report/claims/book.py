"""claims.yaml as objects: the cells of the paper's Table 2, and every claim."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf

from sdsl.report.claims.checks import Bound, Cell, Near, Nearest, Order, Shape
from sdsl.report.claims.claim import Claim
from sdsl.report.claims.noise_checks import Drops, Flat, Widest
from sdsl.report.runs.names import METRICS, PAPER_METHODS, dataset_name, method_name

FILE = Path(__file__).with_name("claims.yaml")
KINDS = (Cell, Order, Bound, Near, Nearest, Shape, Flat, Drops, Widest)
TESTS: Mapping[str, type[Claim]] = {kind.__name__.lower(): kind for kind in KINDS}
NOT_OF_ONE_CLAIM = ("test", "datasets", "metrics", "sizes")  # they say which claims an entry makes
METRIC_NAMES = {
    **METRICS,
    "pseudo_label_acc_mean": "pseudo-label accuracy",
    "forgetting": "forgetting",
}


@dataclass(frozen=True)
class PaperCell:
    """A number of Table 2."""

    mean: float
    std: float


@functools.cache
def table_2() -> Mapping[str, Mapping[str, PaperCell]]:
    """method -> dataset -> what the paper prints."""
    datasets = _file()["datasets"]
    return {
        method: {d: PaperCell(*pair) for d, pair in zip(datasets, cells, strict=True)}
        for method, cells in _file()["table2"].items()
    }


def paper_cell(method: str, dataset: str) -> PaperCell | None:
    """None where Table 2 has no such method or dataset."""
    return table_2().get(method, {}).get(dataset)


def paper_means(dataset: str) -> dict[str, float]:
    """method -> mean of Table 2."""
    return {method: cells[dataset].mean for method, cells in table_2().items()}


def claims() -> list[Claim]:
    """Every claim, one per dataset and metric; the cells of Table 2 come first."""
    return [*_cells(), *_statements()]


def _cells() -> Iterator[Cell]:
    corrected = _file()["tolerance_std"]
    for method in PAPER_METHODS:
        for dataset, printed in table_2()[method].items():
            name = method_name(method)
            yield Cell(
                id="cell",
                where="4.4, Table 2",
                text=f"Acc_T of {name} on {dataset_name(dataset)} is {printed.mean:.3f}",
                dataset=dataset,
                metric="acc_final",
                method=method,
                mean=printed.mean,
                std=printed.std,
                tolerance_std=corrected.get(f"{method}/{dataset}", printed.std),
            )


def _statements() -> Iterator[Claim]:
    for entry in _file()["claims"]:
        datasets = _file()["datasets"] if entry["datasets"] == "all" else entry["datasets"]
        for metric in entry.get("metrics", [None]):
            for dataset in datasets:
                yield _claim(entry, dataset, metric)


def _claim(entry: Mapping[str, Any], dataset: str, metric: str | None) -> Claim:
    """A claim of claims.yaml about one of its datasets, in one of its metrics if it has any."""
    parameters = dict(entry.get("sizes", {}).get(dataset, {}))
    names = {**parameters, "dataset": dataset_name(dataset)}
    if metric:
        parameters["metric"] = metric
        names["metric"] = METRIC_NAMES[metric]
    parameters |= {"dataset": dataset, "text": entry["text"].format(**names)}
    shared = {key: value for key, value in entry.items() if key not in NOT_OF_ONE_CLAIM}
    return TESTS[entry["test"]](**{**shared, **parameters})


@functools.cache
def _file() -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(FILE)))
