"""What a person sees: a bar per run, one line per sweep, a table at the end; quiet in a pipe."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

if TYPE_CHECKING:
    from hydra.core.utils import JobReturn

    from sdsl.launch.job import Report
    from sdsl.launch.local import Job


class Quiet:
    """Nobody watches: a job of a sweep."""

    def stage(self, name: str, segments: int | None = None) -> None: ...

    def line(self, text: str) -> None: ...

    def step(self, t: int, online: float) -> None: ...


class Bar(Quiet):
    """Segment and running accuracy of one run; leaves nothing behind but lines."""

    def __init__(self):
        self.console = Console(stderr=True)
        columns = TextColumn("{task.description}"), BarColumn(pulse_style="cyan")
        self.bar = Progress(
            *columns,
            TextColumn("{task.fields[now]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("starting", total=None, now="")

    def __enter__(self) -> "Bar":
        self.bar.start()
        return self

    def __exit__(self, *error) -> None:
        self.bar.stop()

    def stage(self, name: str, segments: int | None = None) -> None:
        self.bar.update(self.task, description=name, total=segments, completed=0)

    def line(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def step(self, t: int, online: float) -> None:
        now = f"segment {t}, Acc_t so far {100 * online:.2f}"
        self.bar.update(self.task, completed=t, now=now)


class Sweep:
    """'137 of 440 runs done, 2 failed, about 6 min left'; in a pipe, a line per finished job."""

    def __init__(self, jobs: "Sequence[Job]"):
        self.total = sum(job.seeds for job in jobs)
        self.runs = self.failed = 0
        self.done: dict[int, JobReturn] = {}
        self.failures: list[tuple[Job, str]] = []
        self.told: set[str] = set()
        self.start = time.monotonic()
        self.console = Console(stderr=True)
        self.status = self.console.status(self.line())

    def __enter__(self) -> "Sweep":
        if self.console.is_terminal:
            self.status.start()
        return self

    def __exit__(self, *error) -> None:
        self.status.stop()

    def finished(self, job: "Job", result: "JobReturn") -> None:
        from hydra.core.utils import JobStatus

        self.done[job.index] = result
        if result.status == JobStatus.FAILED:
            self.failed += job.seeds
            self.failures.append((job, str(result._return_value)))
            text = f"failed: {job.overrides}: {result._return_value}"
        else:
            self.runs += job.seeds
            text = self._told(job, result.return_value)
        if text and not self.console.is_terminal:
            text = f"{self.line()} | {text}"
        if text:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)
        self.status.update(self.line())

    def _told(self, job: "Job", report: "Report") -> str:
        """Data is never silent: its source is said once; in a pipe each job has a line."""
        fresh = f"{report.data}" if report.data not in self.told else ""
        self.told.add(report.data)
        if self.console.is_terminal:
            return fresh
        kept = len(report.entries) - report.fresh
        note = f"{job.overrides}" + (f" ({kept} of {len(report.entries)} held)" if kept else "")
        return f"{note} | {fresh}" if fresh else note

    def line(self) -> str:
        ended = self.runs + self.failed
        text = f"{self.runs} of {self.total} runs done"
        text += f", {self.failed} failed" if self.failed else ""
        if 0 < ended < self.total:
            left = (time.monotonic() - self.start) / ended * (self.total - ended)
            text += f", about {max(1, round(left / 60))} min left"
        return text

    def report(self) -> None:
        """The table, then every failure with its overrides and cause."""
        failed = {job.index for job, _ in self.failures}
        summary([r.return_value for i, r in sorted(self.done.items()) if i not in failed])
        for job, cause in sorted(self.failures, key=lambda pair: pair[0].index):
            print(f"FAILED {job.overrides}\n  {cause}", file=sys.stderr)


def summary(reports: "Sequence[Report]") -> None:
    """The table of a run or a sweep, on standard output: the same however it got there."""
    groups: dict[str, list[Report]] = {}
    for report in reports:
        groups.setdefault(report.group, []).append(report)
    table = Table(caption="mean ± std over n seeds (ddof=1), in %", caption_justify="left")
    for head in ("method", "dataset", "n", "Acc_t", "Acc_T", "swapped", "data"):
        table.add_column(head, justify="right" if head in ("n", "swapped") else "left")
    for some in sorted(groups.values(), key=lambda g: (g[0].method, g[0].dataset, g[0].group)):
        entries = {entry.seed: entry for report in some for entry in report.entries}
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
    console = Console(width=None if sys.stdout.isatty() else 120)
    if reports:
        console.print(table)
        console.print(open_line(reports[0].uri), highlight=False, soft_wrap=True)


def spread(values: Sequence[float]) -> str:
    """'83.12 ± 0.40', in percent; one value has no spread."""
    mean = f"{100 * np.mean(values):.2f}"
    return f"{mean} ± {100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else mean


def open_line(uri: str) -> str:
    """The command that opens the runs in a browser."""
    from sdsl.tracking.client import store_uri

    if uri == store_uri(None):
        return "Look at the runs: mlflow ui"
    if uri.startswith("http"):
        return f"Look at the runs: {uri.rpartition('@')[2] if '@' in uri else uri}"
    return f"Look at the runs: mlflow ui --backend-store-uri {uri.partition('?')[0]}"
