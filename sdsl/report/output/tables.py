"""The tables of Acc_T (the paper's Table 2) and Acc_t: their cells, as CSV and as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sdsl.report.claims.book import paper_cell
from sdsl.report.runs.names import (
    CLASS_METRICS,
    DATASETS,
    METRICS,
    READ_LABELS,
    STATIC_BOUND,
    Setting,
    dataset_name,
    datasets_in_order,
    method_name,
    methods_in_order,
)
from sdsl.report.runs.results import Results

LEGEND = (
    "mean ± std (n): over n seeds, std with ddof = 1. paper: the paper's number. "
    "swaps: seeds with a lasting class swap. static bound: the best accuracy measured for any one "
    "classifier of this stream. Bold: the best mean of those that read no labels. – : not run."
)
GAP = "–"
COLUMNS = 8  # datasets side by side, as in the paper


@dataclass(frozen=True)
class Table:
    """One metric in one setting; `cells` has one row per method and dataset."""

    setting: Setting
    metric: str
    cells: pd.DataFrame

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.metric}{self.setting.suffix}"

    @property
    def title(self) -> str:
        sources = {"acc_final": "Table 2", "acc_online": "the diagonal of R"}
        source = f" ({sources[self.metric]})" if self.metric in sources else ""
        setting, name = self.setting.title, (METRICS | CLASS_METRICS)[self.metric]
        return f"{name}{source}, {setting[0].lower()}{setting[1:]}"


def cells(results: Results, metric: str) -> pd.DataFrame:
    """One row for every method that ran and every dataset of the paper or that ran."""
    methods = methods_in_order(results.variants() - {STATIC_BOUND})
    rows = []
    for stream in datasets_in_order({*results.streams(), *results.expected_datasets()}):
        bound = results.static_bound(stream, metric)
        for method in methods:
            runs = results.cell(method, stream)
            values = results.scores(method, stream, metric)
            paper = paper_cell(method, stream) if metric == "acc_final" else None
            rows.append(
                {
                    "method": method,
                    "dataset": stream,
                    "mean": values.mean() if len(values) else np.nan,
                    "std": values.std(ddof=1) if len(values) > 1 else np.nan,
                    "n": len(values),
                    "paper_mean": paper.mean if paper else np.nan,
                    "paper_std": paper.std if paper else np.nan,
                    "static_bound": bound,
                    "swaps": int(runs.get("lasting_swap", pd.Series(dtype=float)).sum()),
                    "per_seed": " ".join(f"{seed}:{v:.4f}" for seed, v in values.items()),
                    "standing": results.standing(stream),
                    "run_ids": " ".join(runs.sort_values("seed").index),
                }
            )
    table = pd.DataFrame(rows)
    table["best"] = _best(table)
    return table


def _best(table: pd.DataFrame) -> np.ndarray:
    """True for the best mean of each dataset, and for means that round to it."""
    fair = table[~table.method.isin(READ_LABELS) & table["mean"].notna()]
    tops = fair.groupby("dataset")["mean"].transform("max")
    return table.index.isin(fair.index[np.isclose(fair["mean"], tops, atol=5e-4)])


def csv(table: pd.DataFrame) -> str:
    """One line per cell."""
    return table.to_csv(index=False, float_format="%.6f", lineterminator="\n")


def measured(cell: pd.Series) -> str:
    """0.549 ± 0.021 (5)"""
    if not cell.n:
        return GAP
    std = f" ± {cell['std']:.3f}" if cell.n > 1 else ""
    return f"{cell['mean']:.3f}{std} ({cell.n})"


def papers_number(cell: pd.Series) -> str:
    """0.549 ± 0.021; '' where the paper has no number."""
    if np.isnan(cell.paper_mean):
        return ""
    return f"{cell.paper_mean:.3f} ± {cell.paper_std:.3f}"


def swap_count(cell: pd.Series) -> str:
    """'2 swaps'; '' where there is none."""
    return "" if not cell.swaps else "1 swap" if cell.swaps == 1 else f"{cell.swaps} swaps"


def bound_text(bound: float) -> str:
    return GAP if np.isnan(bound) else f"{bound:.3f}"


def markdown(table: pd.DataFrame, title: str) -> str:
    """One table with the paper's datasets; other streams follow in tables of their own."""
    parts = [f"# {title}\n", f"{LEGEND}\n"]
    streams = by_dataset(table)
    for block in blocks(table):
        names = [escaped(dataset_name(stream)) for stream in block]
        lines = [f"| method | {' | '.join(names)} |", "|---" * (len(block) + 1) + "|"]
        for method in table.method.unique():
            row = row_of(table, method)
            shown = [_markdown_cell(row.loc[stream]) for stream in block]
            lines.append(f"| {escaped(method_name(method))} | {' | '.join(shown)} |")
        bounds = [bound_text(streams.static_bound[stream]) for stream in block]
        standings = [streams.standing[stream] or GAP for stream in block]
        lines.append(f"| *static bound* | {' | '.join(bounds)} |")
        lines.append(f"| *data* | {' | '.join(standings)} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def row_of(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """The cells of one method, by dataset."""
    return table[table.method == method].set_index("dataset")


def by_dataset(table: pd.DataFrame) -> pd.DataFrame:
    """What is the same for every method, static_bound and standing, by dataset."""
    return table.drop_duplicates("dataset").set_index("dataset")


def blocks(table: pd.DataFrame) -> list[Sequence[str]]:
    """Datasets that are shown side by side: the paper's, then the others."""
    streams = list(table.dataset.unique())
    paper = [s for s in streams if s in DATASETS]
    others = [s for s in streams if s not in DATASETS]
    parts = [others[at : at + COLUMNS] for at in range(0, len(others), COLUMNS)]
    return [paper, *parts] if paper else list(parts)


def _markdown_cell(cell: pd.Series) -> str:
    text = f"**{measured(cell)}**" if cell.best else measured(cell)
    paper = f"paper {papers_number(cell)}" if papers_number(cell) else ""
    return "<br>".join(part for part in (text, paper, swap_count(cell)) if part)


def escaped(text: str) -> str:
    """A name as text, whatever it holds: no new table cell, no tag, no emphasis."""
    for char in "\\`*_|[]":
        text = text.replace(char, f"\\{char}")
    return text.replace("<", "&lt;").replace(">", "&gt;")
