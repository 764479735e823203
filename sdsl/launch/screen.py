"""The bar and the table at the end: a Hydra callback, so they appear with every launcher.

Jobs write reports (report.py) into the folder of the run or the sweep; a thread of the command
reads them. Runs of jobs on a machine that does not share this folder are read from the store at the
end.
"""

import math
import shutil
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.experimental.callback import Callback
from omegaconf import DictConfig
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from sdsl import interrupt
from sdsl.errors import UserError
from sdsl.launch import table
from sdsl.launch.report import FOLDER, Report, read, sweep_id
from sdsl.tracking.address import masked

POLL = 0.5  # seconds between two looks at the reports
MINUTE = 60.0  # between two lines about the same work, where there is no terminal
running: "Watch | None" = None
failed = False  # whether a job of this command failed


class Screen(Callback):
    """`hydra.callbacks.screen` of conf/config.yaml."""

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        start(Watch(config, Path(config.hydra.run.dir), jobs=1, alone=True))

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        watch = Watch(config, Path(config.hydra.sweep.dir), count_jobs(config), alone=False)
        try:
            watch.open_store()
        except UserError as error:  # Hydra would only warn of it
            print(masked(error), file=sys.stderr)
            raise SystemExit(2) from None
        interrupt.install()  # again: MLflow is imported now
        start(watch)

    def on_run_end(self, config: DictConfig, **kwargs: Any) -> None:
        end()

    on_multirun_end = on_run_end


def start(watch: "Watch") -> None:
    global running, failed
    running, failed = watch, False
    shutil.rmtree(watch.folder / FOLDER, ignore_errors=True)
    (watch.folder / FOLDER).mkdir(parents=True)
    watch.thread.start()


def end(whole: bool = True) -> str:
    """Print the tables; returns how much is done, for a command that was stopped."""
    global running, failed
    if running is None:
        return "Stopped. The same command continues."
    watch, running = running, None
    failed = watch.finish(whole)
    return watch.stopped()


def checked(jobs: int) -> None:
    """For a launcher that checks all jobs before it starts the first: so many are right."""
    if running is not None:
        running.checked = jobs


def count_jobs(config: DictConfig) -> int | None:
    """The number of jobs of Hydra's basic sweeper; None: another sweeper decides as it goes."""
    sweeper = config.hydra.sweeper
    if not str(sweeper._target_).endswith(".BasicSweeper"):
        return None
    words = [f"{key}={value}" for key, value in (sweeper.params or {}).items()]
    parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
    counts = {}
    for one in parser.parse_overrides(words + list(config.hydra.overrides.task)):
        sweep = one.is_sweep_override() and one.is_discrete_sweep()
        counts[one.get_key_element()] = len(list(one.sweep_string_iterator())) if sweep else 1
    return math.prod(counts.values())


class Watch:
    """The jobs of one command, as their reports tell."""

    def __init__(self, config: DictConfig, folder: Path, jobs: int | None, alone: bool):
        self.folder, self.jobs, self.alone = folder, jobs, alone
        self.tracking, self.seeds = config.tracking, len(config.seed["values"])
        self.ledger: Any = None
        self.checked = 0
        self.reports: list[Report] = []
        self.said: set[Any] = set()  # notes, and ends of jobs
        self.bar, self.over = Bar(), threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def open_store(self) -> None:
        """Database and experiment are made here, before several jobs could do it at once."""
        from sdsl.tracking.ledger import Ledger
        from sdsl.tracking.store import Store

        self.ledger = Ledger(Store(self.tracking.uri, self.tracking.experiment))
        for name in self.ledger.stale():
            self.bar.say(f"its process was killed earlier: {name}")

    def _watch(self) -> None:
        while not self.over.wait(POLL):
            self.show()

    def show(self) -> None:
        """Read the reports, print what is new, move the bar."""
        self.reports = list(read(self.folder).values())
        text = self._text_alone() if self.alone else self._text()
        for report in self.reports:
            for note in report.notes:
                self._once(note, note)
            if report.failure and not self.alone:
                self._once(report.job, f"failed: {report.words}: {report.failure}")
            elif report.ended and not self.alone and self.bar.disable:
                self._once(report.job, f"{text} | {report.words}")
        self.bar.show(text, sum(report.share() for report in self.reports), self.jobs)

    def _once(self, key: Any, text: str) -> None:
        if key not in self.said:
            self.said.add(key)
            self.bar.say(text)

    def _text(self) -> str:
        """'3 of 8 jobs, 1 failed, job 4: segment 12 of 31, 0:01:35 left'"""
        if self.checked and not self.reports:
            return f"{self.checked} of {self.jobs or 'an unknown number of'} jobs checked"
        ended = [report for report in self.reports if report.ended]
        text = f"{len(ended)} of {self.jobs or 'an unknown number of'} jobs"
        if failures := sum(bool(report.failure) for report in ended):
            text += f", {failures} failed"
        for one in [report for report in self.reports if report.T and not report.ended][:2]:
            text += f", job {one.job}: segment {one.t} of {one.T}"
        # Jobs whose runs were all in the store do not count for the speed.
        known = sum(not report.computed and not report.failure for report in ended)
        done = sum(report.share() for report in self.reports) - known
        return text + self.bar.left(done, (self.jobs or 0) - known)

    def _text_alone(self) -> str:
        """'ours · satimage · seed 0: segment 3 of 31, Acc_t so far 83.20, 0:00:12 left'"""
        if not self.reports:
            return "starting"
        report = self.reports[0]
        text = report.stage
        if report.T:
            text += f": segment {report.t} of {report.T}, Acc_t so far {100 * report.online:.2f}"
        return text + self.bar.left(report.share(), 1)

    def finish(self, whole: bool) -> bool:
        """Print the tables and the failures; whether there are any."""
        self.over.set()
        self.thread.join()
        self.show()
        self.bar.stop()
        rows = table.of_reports(self.reports)
        if self.ledger is not None:
            self.ledger.end_sweep(sweep_id(self.folder))  # runs of workers that were lost
            if whole and len(self.reports) < (self.jobs or 0):
                rows = table.with_stored(rows, self.tracking, sweep_id(self.folder))
        table.print_table(rows, self.tracking.uri)
        failures = [report for report in self.reports if report.failure]
        for report in failures if not self.alone else ():  # the command prints that of one run
            print(f"FAILED {report.words}\n  {report.failure}", file=sys.stderr)
        shutil.rmtree(self.folder / FOLDER, ignore_errors=True)
        return bool(failures)

    def stopped(self) -> str:
        """'Stopped: 3 of 8 runs are done, 5 are left. The same command continues.'"""
        begun = [report for report in self.reports if report.row]
        done = sum(len(report.runs) for report in begun)
        total = sum(report.seeds for report in begun)
        total += self.seeds * ((self.jobs or len(begun)) - len(begun))
        left = f"{done} of {total} runs are done, {total - done} are left"
        return f"Stopped: {left}. The same command continues."


class Bar(Progress):
    """On standard error: a bar in a terminal, a line per minute in a pipe, and lines that stay."""

    def __init__(self) -> None:
        columns = BarColumn(30, pulse_style="cyan"), TextColumn("{task.description}", markup=False)
        console = Console(stderr=True)
        super().__init__(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.begun = self.last = time.monotonic()
        self.add_task("starting", total=None)
        self.start()

    def show(self, text: str, done: float, total: float | None) -> None:
        """The work as it is now; `total` is None if it is not known."""
        self.update(self.task_ids[0], description=text, completed=done, total=total)
        if self.disable and time.monotonic() > self.last + MINUTE:
            self.say(text)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.last = time.monotonic()
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def left(self, done: float, total: float) -> str:
        """', 0:01:35 left'; empty before anything is done and after the last."""
        if not 0 < done < total:
            return ""
        seconds = (time.monotonic() - self.begun) * (total / done - 1)
        return f", {timedelta(seconds=round(seconds))} left"
