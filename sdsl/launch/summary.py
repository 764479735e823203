"""The tables at the end of a run or a sweep, and how to look at the runs."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sdsl.config.naming import Names
from sdsl.launch.types import JobReport
from sdsl.tracking.looking import MOST, look_at, only, run_ids
from sdsl.tracking.records import Entry

BEST = " *"
UNEQUAL = 1.5  # balanced accuracy is shown from this ratio of the largest class to the smallest on


@dataclass(frozen=True)
class Row:
    """One config on one stream; its seeds may come from several jobs."""

    names: Names
    standing: str
    reads_labels: bool
    entries: Sequence[Entry]

    def values(self, metric: str) -> list[float]:
        return [entry.metrics[metric] for entry in self.entries if metric in entry.metrics]


@dataclass(frozen=True)
class Column:
    """A column of text; left out where no row has any."""

    head: str
    text: Callable[[Row], str]
    meaning: str = ""
    right: bool = False


@dataclass(frozen=True)
class Accuracy:
    """A metric, mean and spread over the seeds; of each stream the best mean is marked."""

    head: str
    metric: str
    meaning: str
    right: bool = False

    def text(self, row: Row) -> str:
        return spread(row.values(self.metric))


class Balanced(Accuracy):
    """Empty where classes are about equal, and for runs of older versions."""

    def text(self, row: Row) -> str:
        return super().text(row) if max(row.values("class_imbalance"), default=1) > UNEQUAL else ""


COLUMNS: tuple[Column | Accuracy, ...] = (
    Column("method", lambda row: row.names.variant),
    Column("dataset", lambda row: row.names.stream),
    Column("setting", lambda row: row.names.setting),
    Column("n", lambda row: str(len(row.entries)), right=True),
    Accuracy("Acc_t", "acc_online", "accuracy on the current segment, averaged"),
    Balanced("balanced", "balanced_acc_online", "mean recall of the classes, as Acc_t counts it"),
    Accuracy("Acc_T", "acc_final", "accuracy of the last model on all segments"),
    Column(
        "swapped",
        lambda row: str(int(sum(row.values("lasting_swap")))),
        "seeds in which classes exchanged names for a tenth of the stream",
        right=True,
    ),
    Column("data", lambda row: row.standing),
)
# Another task than the paper's, so another table.
IN_CONTEXT: tuple[Column | Accuracy, ...] = (
    *COLUMNS[:4],
    Accuracy("Acc_t in context", "acc_online_context", "each test part predicted as one batch"),
    Accuracy("Acc_T in context", "acc_final_context", "the same by the last model"),
)
SORTS = {"typed": "", "acc_t": "acc_online", "acc_T": "acc_final"}


def print_summary(reports: Sequence[JobReport], sort: str = "typed") -> None:
    """On standard output: the same however the results got there, but for what was computed."""
    if not reports:
        return
    rows = _rows(reports)
    if metric := SORTS[sort]:
        rows.sort(key=lambda row: -fmean(row.values(metric) or [-1.0]))
    console = Console(width=None if sys.stdout.isatty() else 120)
    _print_table(console, rows, COLUMNS)
    if batches := [row for row in rows if row.values("acc_final_context")]:
        _print_table(console, batches, IN_CONTEXT)
    for line in _where(reports):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _print_table(console: Console, rows: Sequence[Row], given: Sequence[Column | Accuracy]) -> None:
    columns = [column for column in given if any(column.text(row) for row in rows)]
    console.print(_table(rows, columns))
    console.print(_explained(rows, columns), highlight=False, soft_wrap=True, markup=False)


def _rows(reports: Sequence[JobReport]) -> list[Row]:
    """In the order typed."""
    groups: dict[str, list[JobReport]] = {}
    for report in reports:
        groups.setdefault(report.group, []).append(report)
    rows = []
    for group in groups.values():
        entries = {entry.seed: entry for report in group for entry in report.entries}
        first = group[0]
        kept = [entries[seed] for seed in sorted(entries)]
        rows.append(Row(first.names, first.standing, first.reads_labels, kept))
    return rows


def _table(rows: Sequence[Row], columns: Sequence[Column | Accuracy]) -> Table:
    table = Table()
    for column in columns:
        table.add_column(column.head, justify="right" if column.right else "left", overflow="fold")
    best = {c.metric: _best(rows, c.metric) for c in columns if isinstance(c, Accuracy)}
    for row in rows:
        cells = []
        for column in columns:
            text = column.text(row)
            marked = bool(text) and isinstance(column, Accuracy) and row in best[column.metric]
            text += BEST if marked else ""
            cells.append(Text(text, style="bold" if marked else ""))
        table.add_row(*cells)
    return table


def _best(rows: Sequence[Row], metric: str) -> list[Row]:
    """Of each stream with more than one row the best mean or means; none that reads labels."""
    fair: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.values(metric) and not row.reads_labels:
            fair.setdefault((row.names.stream, row.names.setting), []).append(row)
    best = []
    for some in fair.values():
        means = [fmean(row.values(metric)) for row in some]
        if min(means) < max(means):
            best += [row for row, mean in zip(some, means, strict=True) if mean == max(means)]
    return best


def _explained(rows: Sequence[Row], columns: Sequence[Column | Accuracy]) -> str:
    parts = [f"{column.head}: {column.meaning}" for column in columns if column.meaning]
    if any(len(row.entries) > 1 for row in rows):
        parts.append("±: std over n seeds (ddof=1)")
    if any(_best(rows, c.metric) for c in columns if isinstance(c, Accuracy)):
        parts.append("*: best on its stream of those that read no labels")
    return "In %. " + "; ".join(parts) + "."


def _where(reports: Sequence[JobReport]) -> list[str]:
    """The runs and the address that shows them, one of each store."""
    lines = []
    for uri, experiment in dict.fromkeys((r.uri, r.experiment) for r in reports):
        here = [r for r in reports if (r.uri, r.experiment) == (uri, experiment)]
        ids = list(dict.fromkeys(entry.run_id for report in here for entry in report.entries))
        lines.append(run_ids(ids, sum(report.computed for report in here)))
        lines.append(look_at(uri, experiment, _filter(here)))
    return lines


def _filter(reports: Sequence[JobReport]) -> str:
    """What shows the parents, with their means, and of one config also its runs."""
    parents = list(dict.fromkeys(report.parent for report in reports))
    if len(parents) == 1:
        return f"tags.group_key = '{reports[0].group}'"
    if len(parents) <= MOST:
        return only(*parents)
    streams = {report.names.stream for report in reports}
    one = f" and tags.stream = '{streams.pop()}'" if len(streams) == 1 else ""
    return f"tags.kind = 'group'{one}"


def spread(values: Sequence[float]) -> str:
    """'83.12 ± 0.40', in percent; one value has no spread."""
    if not values:
        return ""
    mean = f"{100 * np.mean(values):.2f}"
    return f"{mean} ± {100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else mean
