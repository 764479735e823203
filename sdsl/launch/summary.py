"""The tables at the end of a run or a sweep, and how to look at the runs."""

import sys
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from sdsl.launch.types import JobReport
from sdsl.tracking.address import shown, store_uri

COLUMNS = ("method", "dataset", "n", "Acc_t", "Acc_T", "swapped", "data")
BALANCED = "balanced"  # stands beside Acc_t where classes are unequal
UNEQUAL = 1.5  # from this ratio of the largest class to the smallest on
CAPTION = "mean ± std over n seeds (ddof=1), in %"
# Another task than the paper's, so another table.
IN_CONTEXT = ("method", "dataset", "n", "Acc_t in context", "Acc_T in context")
BATCHES = f"each test part predicted as one unlabelled batch; {CAPTION}"


def print_summary(reports: Sequence[JobReport]) -> None:
    """On standard output: the same however the results got there."""
    if not reports:
        return
    groups: dict[str, list[JobReport]] = {}
    for report in reports:
        groups.setdefault(report.group, []).append(report)
    ordered = sorted(groups.values(), key=lambda g: (g[0].method, g[0].dataset, g[0].group))
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(_table(*with_balanced(COLUMNS, [_cells(g) for g in ordered], ordered)))
    if batches := [cells for group in ordered if (cells := _cells_in_context(group))]:
        console.print(_table(IN_CONTEXT, BATCHES, batches))
    console.print(look_at_the_runs(reports[0].uri), highlight=False, soft_wrap=True)


def _table(heads: Sequence[str], caption: str, rows: Sequence[Sequence[str]]) -> Table:
    table = Table(caption=caption, caption_justify="left")
    for head in heads:
        table.add_column(head, justify="right" if head in ("n", "swapped") else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _metrics(group: Sequence[JobReport]) -> list[dict[str, float]]:
    """Of every seed of one config on one stream; they may come from several jobs."""
    entries = {entry.seed: entry for report in group for entry in report.entries}
    return [entries[seed].metrics for seed in sorted(entries)]


def with_balanced(
    heads: Sequence[str], rows: Sequence[Sequence[str]], groups: Sequence[Sequence[JobReport]]
) -> tuple[Sequence[str], str, Sequence[Sequence[str]]]:
    """(heads, caption, rows), with a column of balanced accuracy if some group needs it."""
    cells = [_balanced(group) for group in groups]
    if not any(cells):
        return heads, CAPTION, rows
    at = heads.index("Acc_t") + 1
    wider = [[*row[:at], cell, *row[at:]] for row, cell in zip(rows, cells, strict=True)]
    meaning = "balanced: mean recall of the classes, where their sizes differ"
    return [*heads[:at], BALANCED, *heads[at:]], f"{CAPTION}; {meaning}", wider


def _balanced(group: Sequence[JobReport]) -> str:
    """As Acc_t counts it; empty where classes are about equal, and for runs of older versions."""
    metrics = [m for m in _metrics(group) if m.get("class_imbalance", 1.0) > UNEQUAL]
    return spread([m["balanced_acc_online"] for m in metrics]) if metrics else ""


def _cells_in_context(group: Sequence[JobReport]) -> tuple[str, ...] | None:
    """None where nothing was predicted in context."""
    metrics = [m for m in _metrics(group) if "acc_final_context" in m]
    if not metrics:
        return None
    names = group[0].method, group[0].dataset, str(len(metrics))
    found = [spread([m[f"{n}_context"] for m in metrics]) for n in ("acc_online", "acc_final")]
    return (*names, *found)


def _cells(group: Sequence[JobReport]) -> tuple[str, ...]:
    """The row of one config on one stream."""
    metrics = _metrics(group)
    return (
        group[0].method,
        group[0].dataset,
        str(len(metrics)),
        spread([m["acc_online"] for m in metrics]),
        spread([m["acc_final"] for m in metrics]),
        str(int(sum(m["lasting_swap"] for m in metrics))),
        group[0].standing,
    )


def spread(values: Sequence[float]) -> str:
    """'83.12 ± 0.40', in percent; one value has no spread."""
    mean = f"{100 * np.mean(values):.2f}"
    return f"{mean} ± {100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else mean


def look_at_the_runs(uri: str) -> str:
    """The command or the address that shows the runs in a browser."""
    if uri == store_uri(None):
        return "Look at the runs: mlflow ui"
    if uri.startswith("http"):
        return f"Look at the runs: {shown(uri).replace('***@', '')}"
    return f"Look at the runs: mlflow ui --backend-store-uri {shown(uri)}"
