"""The table of recalls: what share of each class every method finds, stream by stream."""

from collections.abc import Sequence

import pandas as pd

from sdsl.report.output.tables import GAP, escaped
from sdsl.report.runs.names import (
    STATIC_BOUND,
    dataset_name,
    datasets_in_order,
    method_name,
    methods_in_order,
)
from sdsl.report.runs.results import Results

PREFIX = "recall_"
LEGEND = (
    "Recall: the share of a class's test rows that were predicted as this class, over Q_1 to Q_T, "
    "each predicted by the model of its own step. Mean ± std over n seeds (ddof = 1)."
)
COLUMNS = ["method", "dataset", "class", "mean", "std", "n"]


def cells(results: Results) -> pd.DataFrame:
    """One row for every method, stream and class; none if no run has logged recalls."""
    rows = []
    names = [name for name in results.frame if name.startswith(PREFIX)]
    for stream in datasets_in_order(results.streams()):
        for method in methods_in_order(results.variants() - {STATIC_BOUND}):
            for name in names:
                values = results.scores(method, stream, name)
                if len(values):
                    label = name.removeprefix(PREFIX)
                    numbers = values.mean(), values.std(ddof=1), len(values)
                    rows.append((method, stream, label, *numbers))
    return pd.DataFrame(rows, columns=COLUMNS)


def markdown(table: pd.DataFrame, title: str) -> str:
    """One table per stream: methods down, classes across."""
    parts = [f"# {title}\n", f"{LEGEND}\n"]
    for stream, part in table.groupby("dataset", sort=False):
        classes = list(part["class"].unique())
        parts.append(f"## {escaped(dataset_name(str(stream)))}\n")
        lines = [f"| method | {' | '.join(map(escaped, classes))} |"]
        lines += ["|---" * (len(classes) + 1) + "|"]
        for method, own in part.groupby("method", sort=False):
            lines.append(f"| {escaped(method_name(str(method)))} | {_row(own, classes)} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _row(own: pd.DataFrame, classes: Sequence[str]) -> str:
    known = {row["class"]: row for row in own.to_dict("records")}
    return " | ".join(_cell(known[c]) if c in known else GAP for c in classes)


def _cell(cell: dict) -> str:
    std = f" ± {cell['std']:.3f}" if cell["n"] > 1 else ""
    return f"{cell['mean']:.3f}{std} ({cell['n']})"
