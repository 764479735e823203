"""What a person sees meanwhile: of a run its segments, of a sweep those of all its jobs."""

import sys
import threading
from collections.abc import Sequence
from typing import Self

from sdsl.launch.steps import Steps, read
from sdsl.launch.types import Job, JobReport, JobResult
from sdsl.progress import Meter, Pace

POLL = 0.5  # seconds between two looks at what the workers report
LISTED = 12  # jobs of a sweep that are listed before it starts


class Quiet:
    """Nobody watches."""

    def stage(self, name: str, segments: int | None = None) -> None:
        """What begins now, and how many segments it takes if that is known."""

    def line(self, text: str) -> None:
        """Something to be read afterwards too."""

    def step(self, t: int, online: float) -> None:
        """Segment t is done; the accuracy so far."""


class Reporter(Quiet):
    """A job of a sweep: its parent is told the step."""

    def __init__(self, steps: Steps):
        self.steps, self.total = steps, 0

    def stage(self, name: str, segments: int | None = None) -> None:
        if segments:
            self.total = segments
            self.steps.write(0, segments)

    def step(self, t: int, online: float) -> None:
        self.steps.write(t, self.total)


class Bar(Quiet):
    """Segment and running accuracy of one run; leaves nothing behind but lines."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.name, self.total, self.first, self.pace = "", 0, 0, Pace()

    def __enter__(self) -> Self:
        self.meter.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.meter.__exit__()

    def stage(self, name: str, segments: int | None = None) -> None:
        self.name, self.total, self.first, self.pace = name, segments or 0, 0, Pace()
        self.meter.show(name, 0, segments)

    def line(self, text: str) -> None:
        self.meter.say(text)

    def step(self, t: int, online: float) -> None:
        self.first = self.first or t  # a run that goes on does not begin with segment 1
        done, total = t - self.first + 1, self.total - self.first + 1
        left = self.pace.left(done, total)
        accuracy = f"Acc_t so far {100 * online:.2f}"
        text = f"{self.name}: segment {t} of {self.total}, {accuracy}{left}"
        self.meter.show(text, t, self.total)


class SweepScreen:
    """'3 of 8 jobs, 1,240 of 4,360 segments, 13.1 per second, 1:35 left', and news as they come."""

    def __init__(self, jobs: Sequence[Job]):
        self.jobs, self.meter, self.pace = jobs, Meter(), Pace()
        self.results: dict[int, JobReport] = {}  # by the job's index
        self.failures: dict[int, tuple[Job, str]] = {}
        self.data_shown: set[str] = set()
        self.steps: dict[int, tuple[int, int]] = {}  # job -> (segments done, of how many)
        self.held: set[int] = set()  # jobs that the store had: they say nothing about speed
        self.over, self.lock = threading.Event(), threading.Lock()
        self.watch = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self.meter.__enter__()
        self.watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.watch.join()
        self.meter.__exit__()

    def _watch(self) -> None:
        while not self.over.wait(POLL):
            self._show()

    def _show(self) -> None:
        with self.lock:
            for job in self.jobs:
                self.steps[job.index] = read(job.steps) or self.steps.get(job.index, (0, 0))
            self.meter.show(self.text(), *self.segments())

    def segments(self) -> tuple[int, int]:
        """(done, of how many): of all jobs that are computed; a job that ended is done."""
        done = total = 0
        for job in self.jobs:
            t, T = self.steps.get(job.index, (0, 0))
            ended = job.index in self.results or job.index in self.failures
            if job.index not in self.held:
                total += T or (0 if ended else job.segments or self._typical())
                done += T if ended else t
        return done, total

    def _typical(self) -> int:
        """For a stream whose length nobody knows yet."""
        known = [T for _, T in self.steps.values() if T]
        return round(sum(known) / len(known)) if known else 0

    def text(self) -> str:
        ended, (done, total) = len(self.results) + len(self.failures), self.segments()
        text = f"{ended} of {len(self.jobs)} jobs"
        text += f", {len(self.failures)} failed" if self.failures else ""
        if total:
            text += f", {done:,} of {total:,} segments"
        if done:
            text += f", {self.pace.speed(done):.1f} per second"
        return text + self.pace.left(done, total)

    def finished(self, job: Job, result: JobResult) -> None:
        with self.lock:
            self.steps[job.index] = read(job.steps) or self.steps.get(job.index, (0, 0))
            if result.report is None:
                self.failures[job.index] = job, result.failure
                news = f"failed: {job.overrides}: {result.failure}"
            else:
                self.results[job.index] = result.report
                if not result.report.computed:
                    self.held.add(job.index)
                news = self._news(job, result.report)
            if news:
                self.meter.say(news if self.meter.watched else f"{self.text()} | {news}")
            for note in result.report.notes if result.report else []:
                self.meter.say(note)
        self._show()

    def say(self, text: str) -> None:
        self.meter.say(text)

    def _news(self, job: Job, report: JobReport) -> str:
        """The source of each data set once; in a pipe, one line per job."""
        data = "" if report.data in self.data_shown else report.data
        self.data_shown.add(report.data)
        if self.meter.watched:
            return data
        runs = len(report.entries)
        held = runs - report.computed
        note = job.overrides + (f" ({held} of {runs} from the store)" if held else "")
        return f"{note} | {data}" if data else note

    def reports(self) -> list[JobReport]:
        """Of all jobs that ended well, in the order of the sweep."""
        return [report for _, report in sorted(self.results.items())]

    def ended(self, jobs: Sequence[Job]) -> list[tuple[Job, JobReport]]:
        """The same, each with its job."""
        return [(job, self.results[job.index]) for job in jobs if job.index in self.results]

    def list_failures(self) -> None:
        """Every failure with its overrides and cause."""
        for job, cause in (self.failures[index] for index in sorted(self.failures)):
            print(f"FAILED {job.overrides}\n  {cause}", file=sys.stderr)


def announced(jobs: Sequence[Sequence[str]]) -> str:
    """Which jobs there are, before anything is loaded: what they share, and what is different."""
    shared = [word for word in jobs[0] if all(word in words for words in jobs)]
    count = f"{len(jobs)} job{'s' if len(jobs) > 1 else ''}"
    lines = [" ".join([f"{count}:", *shared])]
    if len(jobs) > 1:
        own = [" ".join(word for word in words if word not in shared) for words in jobs]
        lines += [f"  {words or '(as it is)'}" for words in own[:LISTED]]
    if len(jobs) > LISTED:
        lines.append(f"  and {len(jobs) - LISTED} more")
    return "\n".join(lines)
