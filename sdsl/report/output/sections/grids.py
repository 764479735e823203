"""The tables as heat maps: a cell is the darker the nearer it is to the best of its stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sdsl.report.output import tables
from sdsl.report.output.report import Report
from sdsl.report.output.sections.section import METRICS_IN_ORDER, Section, render
from sdsl.report.runs.names import CLASS_METRICS, READ_LABELS, dataset_name, method_name

NAMES = METRICS_IN_ORDER | CLASS_METRICS
PALE = 0.3  # this far below the best a cell has no colour left


@dataclass(frozen=True)
class HeatCell:
    """A cell of the table: what it shows, and what a click or the pointer adds."""

    number: int  # of its seeds in the page's data
    mean: float
    std: str
    swaps: str
    best: bool
    heat: float  # 0 to 1
    tip: str


@dataclass(frozen=True)
class Grid:
    """One metric in one setting, for streams that stand side by side."""

    id: str
    setting: str
    metric: str
    title: str
    streams: Sequence[str]
    rows: Mapping[str, Mapping[str, HeatCell | None]]  # method -> stream -> cell
    bounds: Mapping[str, float]
    standing: Mapping[str, str]


def section(report: Report) -> Section:
    grids: list[Grid] = []
    seeds: list[dict[str, Any]] = []
    for table in report.tables:
        ran = table.cells[table.cells.dataset.isin(report.settings[table.setting].streams())]
        for number, block in enumerate(tables.blocks(ran)):
            grids.append(_grid(table, ran[ran.dataset.isin(block)], number, seeds))
    html = render(
        "grids.html",
        grids=grids,
        metrics={m: name for m, name in NAMES.items() if m in {g.metric for g in grids}},
        methods=report.methods,
        streams=report.streams,
        looks=report.looks,
    )
    return Section("tables", "Tables", html, {"seeds": seeds})


def _grid(table: tables.Table, cells: pd.DataFrame, number: int, seeds: list[Any]) -> Grid:
    fair = cells[~cells.method.isin(READ_LABELS)]
    best = fair.groupby("dataset")["mean"].max()
    rows: dict[str, dict[str, HeatCell | None]] = {}
    for _, cell in cells.iterrows():
        shown = _cell(table, cell, best.get(cell.dataset, cell["mean"]), len(seeds))
        rows.setdefault(cell.method, {})[cell.dataset] = shown
        if shown:
            seeds.append(_seeds(table, cell, shown))
    by_dataset = tables.by_dataset(cells)
    return Grid(
        id=f"{table.metric}-{table.setting.id}" + (f"-{number + 1}" if number else ""),
        setting=table.setting.id,
        metric=table.metric,
        title=table.title,
        streams=list(cells.dataset.unique()),
        rows={m: row for m, row in rows.items() if any(row.values())},
        bounds=by_dataset.static_bound.to_dict(),
        standing=by_dataset.standing.to_dict(),
    )


def _cell(table: tables.Table, cell: pd.Series, best: float, number: int) -> HeatCell | None:
    """None where nothing ran."""
    if not cell.n:
        return None
    paper = tables.papers_number(cell)
    tip = [f"{method_name(cell.method)} on {dataset_name(cell.dataset)}: {tables.measured(cell)}"]
    tip += [f"paper {paper}"] if paper else ["no number in the paper"]
    tip += [text] if (text := tables.swap_count(cell)) else []
    return HeatCell(
        number=number,
        mean=float(cell["mean"]),
        std=f"± {cell['std']:.3f}" if cell.n > 1 else "",
        swaps=tables.swap_count(cell),
        best=bool(cell.best),
        heat=round(min(1.0, max(0.0, 1 - (best - cell["mean"]) / PALE)), 2),
        tip=" · ".join(tip),
    )


def _seeds(table: tables.Table, cell: pd.Series, shown: HeatCell) -> dict[str, Any]:
    """What a click on a cell opens."""
    values = [pair.split(":") for pair in cell.per_seed.split()]
    pairs = zip(values, cell.run_ids.split(), strict=True)
    runs = [[seed, value, run] for (seed, value), run in pairs]
    return {"title": shown.tip, "metric": NAMES[table.metric], "runs": runs}
