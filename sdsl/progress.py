"""What a person sees: a bar per run, one line per sweep, a table at the end; quiet in a pipe."""

import sys
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table


class Quiet:
    """Nobody watches: a worker of a sweep."""

    def say(self, stage: str) -> None: ...

    def line(self, text: str) -> None: ...

    def start(self, name: str, seeds: int) -> None: ...

    def step(self, t: int, online: float) -> None: ...

    def stop(self) -> None: ...


class Bar(Quiet):
    """Segment and running accuracy of one run; leaves nothing behind but lines."""

    def __init__(self):
        self.console = Console(stderr=True)
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[now]}")
        self.bar = Progress(
            *columns,
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("starting", total=None, now="")
        self.bar.start()

    def say(self, stage: str) -> None:
        self.bar.update(self.task, description=stage)

    def line(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)

    def start(self, name: str, seeds: int) -> None:
        self.bar.update(self.task, description=f"{name} ({seeds} seed{'s' * (seeds > 1)})")

    def step(self, t: int, online: float) -> None:
        self.bar.update(self.task, completed=t, now=f"segment {t}, Acc_t so far {online:.1%}")

    def stop(self) -> None:
        self.bar.stop()


def summary(reports: Sequence) -> None:
    """The table of a sweep or a run, on standard output, the same however it got there."""
    groups: dict[str, list] = {}
    for report in reports:
        groups.setdefault(report.group, []).append(report)
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table(caption="mean ± std over n seeds (ddof=1)", caption_justify="left")
    for head in ("method", "dataset", "n", "Acc_t", "Acc_T", "swapped", "data"):
        table.add_column(head, justify="right" if head in ("n", "swapped") else "left")
    order = sorted(groups.values(), key=lambda some: (some[0].method, some[0].dataset))
    for some in order:
        entries = {e.seed: e for report in some for e in report.entries}
        metrics = [entries[seed].metrics for seed in sorted(entries)]
        table.add_row(
            some[0].method,
            some[0].dataset,
            str(len(metrics)),
            spread([m["acc_online"] for m in metrics]),
            spread([m["acc_final"] for m in metrics]),
            str(int(sum(m["lasting_swap"] for m in metrics))),
            some[0].standing,
        )
    console.print(table)
    if reports:
        console.print(open_line(reports[0].uri), highlight=False, soft_wrap=True)


def spread(values: Sequence[float]) -> str:
    """'83.12 ± 0.40', in percent; one value has no spread."""
    mean = f"{100 * np.mean(values):.2f}"
    return f"{mean} ± {100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else mean


def open_line(uri: str) -> str:
    """The command that opens the runs in a browser."""
    from sdsl.tracking import store_uri

    if uri == store_uri(None):
        return "Look at the runs: mlflow ui"
    if uri.startswith("http"):
        return f"Look at the runs: {uri}"
    return f"Look at the runs: mlflow ui --backend-store-uri {uri.partition('?')[0]}"
