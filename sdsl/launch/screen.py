"""What a person sees meanwhile: a bar for a run, one line for a sweep; quiet in a pipe."""

import sys
import time
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from sdsl.launch.types import Job, JobReport, JobResult


class Quiet:
    """Nobody watches: a job of a sweep."""

    def stage(self, name: str, segments: int | None = None) -> None:
        """What begins now, and how many segments it takes if that is known."""

    def line(self, text: str) -> None:
        """Something to be read afterwards too."""

    def step(self, t: int, online: float) -> None:
        """Segment t is done; the accuracy so far."""


class Bar(Quiet):
    """Segment and running accuracy of one run; leaves nothing behind but lines."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(pulse_style="cyan"),
            TextColumn("{task.fields[now]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("starting", total=None, now="")

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def stage(self, name: str, segments: int | None = None) -> None:
        self.bar.update(self.task, description=name, total=segments, completed=0)

    def line(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def step(self, t: int, online: float) -> None:
        now = f"segment {t}, Acc_t so far {100 * online:.2f}"
        self.bar.update(self.task, completed=t, now=now)


class SweepScreen:
    """'137 of 440 runs done, 2 failed, about 6 min left'; in a pipe, one line per finished job."""

    def __init__(self, jobs: Sequence[Job]):
        self.total = sum(job.seeds for job in jobs)
        self.done = self.failed = 0  # runs
        self.results: dict[int, JobReport] = {}  # by the job's index
        self.failures: dict[int, tuple[Job, str]] = {}
        self.data_shown: set[str] = set()
        self.start = time.monotonic()
        self.console = Console(stderr=True)
        self.status = self.console.status(self.line())

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.status.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.status.stop()

    def finished(self, job: Job, result: JobResult) -> None:
        if result.report is None:
            self.failed += job.seeds
            self.failures[job.index] = job, result.failure
            text = f"failed: {job.overrides}: {result.failure}"
        else:
            self.done += job.seeds
            self.results[job.index] = result.report
            text = self._news(job, result.report)
        if text and not self.console.is_terminal:
            text = f"{self.line()} | {text}"
        if text:
            self.say(text)
        for note in result.report.notes if result.report else []:
            self.say(note)
        self.status.update(self.line())

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _news(self, job: Job, report: JobReport) -> str:
        """The source of each data set once; in a pipe, one line per job."""
        data = "" if report.data in self.data_shown else report.data
        self.data_shown.add(report.data)
        if self.console.is_terminal:
            return data
        runs = len(report.entries)
        held = runs - report.computed
        note = job.overrides + (f" ({held} of {runs} held)" if held else "")
        return f"{note} | {data}" if data else note

    def line(self) -> str:
        ended = self.done + self.failed
        text = f"{self.done} of {self.total} runs done"
        text += f", {self.failed} failed" if self.failed else ""
        if 0 < ended < self.total:
            left = (time.monotonic() - self.start) / ended * (self.total - ended)
            text += f", about {max(1, round(left / 60))} min left"
        return text

    def reports(self) -> list[JobReport]:
        """Of all jobs that ended well, in the order of the sweep."""
        return [report for _, report in sorted(self.results.items())]

    def list_failures(self) -> None:
        """Every failure with its overrides and cause."""
        for job, cause in (self.failures[index] for index in sorted(self.failures)):
            print(f"FAILED {job.overrides}\n  {cause}", file=sys.stderr)
