"""The table at the end of a run or a sweep, and how to look at the runs."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import fmean, stdev
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sdsl.launch.report import Report
from sdsl.tracking import PROBED
from sdsl.tracking.address import store_uri, view

UNEQUAL = 1.5  # balanced accuracy is shown from this ratio of the largest class to the smallest on
MEANING = {
    "Acc_t": "accuracy on the current segment, averaged",
    "balanced": "mean recall of the classes, as Acc_t counts it",
    "Acc_T": "accuracy of the last model on all segments",
    "swapped": "seeds in which classes exchanged names for a tenth of the stream",
}
METRICS = {"Acc_t": "acc_online", "balanced": "balanced_acc_online", "Acc_T": "acc_final"}


@dataclass
class Row:
    """One config on one stream; its seeds may come from several jobs."""

    variant: str
    stream: str
    setting: str
    standing: str
    group_key: str
    experiment: str
    reads_labels: bool = False
    parent: str = ""
    runs: dict[int, dict[str, float]] = field(default_factory=dict)  # seed -> metrics
    computed: int = 0

    def values(self, metric: str) -> list[float]:
        return [metrics[metric] for metrics in self.runs.values() if metric in metrics]

    def cells(self) -> dict[str, str]:
        swapped = sum(self.values("lasting_swap"))
        unequal = max(self.values("class_imbalance"), default=1) > UNEQUAL
        found = {head: spread(self.values(metric)) for head, metric in METRICS.items()}
        probed = {name for metrics in self.runs.values() for name in metrics if PROBED in name}
        return {
            "method": self.variant,
            "dataset": self.stream,
            "setting": self.setting,
            "n": str(len(self.runs)),
            "Acc_t": found["Acc_t"],
            "balanced": found["balanced"] if unequal else "",
            "Acc_T": found["Acc_T"],
            **{name: spread(self.values(name), 1) for name in sorted(probed)},
            "swapped": f"{swapped:.0f}" if swapped else "",
            "data": self.standing,
        }

    def best(self, metric: str, rows: Iterable["Row"]) -> bool:
        """Whether no row of this stream has a better mean, of those that read no labels."""
        fair = [row for row in rows if row.values(metric) and not row.reads_labels]
        place = self.stream, self.setting
        means = [fmean(row.values(metric)) for row in fair if (row.stream, row.setting) == place]
        return self in fair and min(means) < fmean(self.values(metric)) == max(means)


def of_reports(reports: Iterable[Report]) -> list[Row]:
    """A row per config that has finished runs, in the order of the jobs."""
    rows: dict[str, Row] = {}
    for report in reports:
        if report.runs:
            row = rows.setdefault(report.row["group_key"], Row(**report.row))
            row.parent = report.row.get("parent", row.parent)
            row.runs |= {run["seed"]: run["metrics"] for run in report.runs}
            row.computed += report.computed
    return list(rows.values())


def with_stored(rows: Sequence[Row], tracking: Any, sweep: str) -> list[Row]:
    """The rows, and those of a sweep's runs whose jobs could not report here."""
    from sdsl.tracking.results import results

    stored = results(tracking.uri, tracking.experiment, f"tags.sweep = '{sweep}'", settings=())
    found = {row.group_key: row for row in rows}
    for key, runs in stored.groupby("group_key") if len(stored) else ():
        if key not in found:
            first, made = runs.iloc[0], runs.set_index("seed").select_dtypes("number")
            made = made.dropna(axis=1)  # numbers of other probes
            names = {name: first[name] for name in ("variant", "stream", "setting", "standing")}
            metrics = {int(seed): values for seed, values in made.to_dict("index").items()}
            found[key] = Row(
                **names, group_key=key, experiment="", runs=metrics, computed=len(made)
            )
    return list(found.values())


def print_table(rows: Sequence[Row], uri: str | None) -> None:
    """Print to standard output; only the last two lines depend on what was computed now."""
    if not rows:
        return
    cells = [row.cells() for row in rows]
    heads = [head for head in dict.fromkeys(chain(*cells)) if any(one.get(head) for one in cells)]
    drawn, marked = Table(), False
    for head in heads:
        drawn.add_column(
            head.removeprefix(PROBED), justify="right" if head in ("n", "swapped") else "left"
        )
    for row, made in zip(rows, cells, strict=True):
        one = dict.fromkeys(heads, "") | made
        best = {h for h in heads if h in METRICS and one[h] and row.best(METRICS[h], rows)}
        drawn.add_row(*(Text(one[h] + " *", "bold") if h in best else Text(one[h]) for h in heads))
        marked |= bool(best)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(drawn)
    parts = ["Gold rows: stream.gold=record, unless a setting says otherwise"]
    parts += [f"{head}: {MEANING[head]}" for head in heads if head in MEANING]
    own = [head.removeprefix(PROBED) for head in heads if PROBED in head]
    parts += [f"{', '.join(own)}: as the probe measured, not in %"] if own else []
    parts += ["±: std over n seeds (ddof=1)"] if any(len(row.runs) > 1 for row in rows) else []
    parts += ["*: best on its stream of those that read no labels"] if marked else []
    for line in (f"In %. {'; '.join(parts)}.", *_where(rows, uri)):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _where(rows: Sequence[Row], uri: str | None) -> list[str]:
    """How many runs there are, and how to look at them."""
    runs, made = sum(len(row.runs) for row in rows), sum(row.computed for row in rows)
    lines = [f"{runs} run{'s' if runs > 1 else ''}, {made} of them made now."]
    if experiment := next((row.experiment for row in rows if row.experiment), ""):
        one = len(rows) == 1
        where = f"tags.group_key = '{rows[0].group_key}'" if one else "tags.kind = 'group'"
        parents = [row.parent for row in rows if row.parent and not one]
        lines.append(view(store_uri(uri), experiment, parents, where))
    return lines


def spread(values: Sequence[float], unit: float = 100) -> str:
    """'83.12 ± 0.40', in percent; '0.0312 ± 0.0021' in units of 1. One value has no spread."""
    if not values:
        return ""
    form = ".2f" if unit == 100 else ".4g"
    mean = f"{unit * fmean(values):{form}}"
    return f"{mean} ± {unit * stdev(values):{form}}" if len(values) > 1 else mean
