"""Table 2 (Acc_T) and its twin for Acc_t: one row a cell, then CSV, Markdown and LaTeX."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from sdsl.report.claims.verdicts import paper_cell
from sdsl.report.runs.names import (
    BOUND,
    DATASETS,
    METRICS,
    PRIVILEGED,
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


def cells(results: Results, metric: str) -> pd.DataFrame:
    """A row for every method that ran x every dataset of the paper and every other that ran."""
    methods = methods_in_order(results.variants() - {BOUND})
    rows = []
    for stream in datasets_in_order({*results.streams(), *results.expected()}):
        bound = results.bound(stream, metric)
        for method in methods:
            runs = results.cell(method, stream)
            values = results.runs(method, stream, metric)
            paper = paper_cell(method, stream) if metric == "acc_final" else None
            rows.append(
                {
                    "method": method,
                    "dataset": stream,
                    "mean": values.mean() if len(values) else np.nan,
                    "std": values.std(ddof=1) if len(values) > 1 else np.nan,
                    "n": len(values),
                    "paper_mean": paper[0] if paper else np.nan,
                    "paper_std": paper[1] if paper else np.nan,
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


def _best(table: pd.DataFrame) -> pd.Series:
    fair = table[~table.method.isin(PRIVILEGED) & table["mean"].notna()]
    tops = fair.groupby("dataset")["mean"].transform("max")
    return table.index.isin(fair.index[np.isclose(fair["mean"], tops, atol=5e-4)])


def csv(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, float_format="%.6f", lineterminator="\n")


def own(cell: pd.Series) -> str:
    """0.549 ± 0.021 (5)"""
    if not cell.n:
        return GAP
    std = f" ± {cell['std']:.3f}" if cell.n > 1 else ""
    return f"{cell['mean']:.3f}{std} ({cell.n})"


def printed(cell: pd.Series) -> str:
    """The paper's number as it prints it; '' where it has none."""
    if np.isnan(cell.paper_mean):
        return ""
    return f"{cell.paper_mean:.3f} ± {cell.paper_std:.3f}"


def swaps(cell: pd.Series) -> str:
    return "" if not cell.swaps else "1 swap" if cell.swaps == 1 else f"{cell.swaps} swaps"


def markdown(table: pd.DataFrame, title: str) -> str:
    """Eight columns like the paper's; other streams follow in a table of their own."""
    blocks = [f"# {title}\n", f"{LEGEND}\n"]
    for streams in split(table):
        names = [_md(dataset_name(s)) for s in streams]
        lines = [f"| method | {' | '.join(names)} |", "|---" * (len(streams) + 1) + "|"]
        for method in table.method.unique():
            row = by_stream(table, method)
            shown = [_md_cell(row.loc[s]) for s in streams]
            lines.append(f"| {_md(method_name(method))} | {' | '.join(shown)} |")
        first = table.drop_duplicates("dataset").set_index("dataset")
        bounds = [bound_text(first.static_bound[s]) for s in streams]
        lines.append(f"| *static bound* | {' | '.join(bounds)} |")
        lines.append(f"| *data* | {' | '.join(first.standing[s] or GAP for s in streams)} |")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _md_cell(cell: pd.Series) -> str:
    text = f"**{own(cell)}**" if cell.best else own(cell)
    paper = f"paper {printed(cell)}" if printed(cell) else ""
    return "<br>".join(part for part in (text, paper, swaps(cell)) if part)


def _md(text: str) -> str:
    """A name as text: no table break, no tag, no emphasis."""
    for char in "\\`*_|[]":
        text = text.replace(char, f"\\{char}")
    return text.replace("<", "&lt;").replace(">", "&gt;")


def by_stream(table: pd.DataFrame, method: str) -> pd.DataFrame:
    return table[table.method == method].set_index("dataset")


def bound_text(bound: float) -> str:
    return GAP if np.isnan(bound) else f"{bound:.3f}"


def split(table: pd.DataFrame) -> list[Sequence[str]]:
    """The paper's eight, then the others eight at a time."""
    streams = list(table.dataset.unique())
    others = [s for s in streams if s not in DATASETS]
    parts = [others[at : at + 8] for at in range(0, len(others), 8)]
    paper = [s for s in streams if s in DATASETS]
    return [paper, *parts] if paper else parts


def title(metric: str, setting: str) -> str:
    what = f"{METRICS[metric]} ({'Table 2' if metric == 'acc_final' else 'the diagonal of R'})"
    return f"{what}, {setting[0].lower()}{setting[1:]}"
