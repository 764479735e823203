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
from sdsl.launch.job import sweep_id
from sdsl.launch.report import FOLDER, Report, read
from sdsl.tracking.address import masked

POLL = 0.5  # seconds between two looks at the reports
MINUTE = 60.0  # between two lines about the same work, where there is no terminal


class Screen(Callback):
    """`hydra.callbacks.screen` of conf/config.yaml."""

    def __getstate__(self) -> dict[str, Any]:
        return {}  # workers get a copy, which shows nothing

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        start(Watch(config, Path(config.hydra.run.dir), jobs=1, alone=True))

    def on_run_end(self, config: DictConfig, **kwargs: Any) -> None:
        end()

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        watch = Watch(config, Path(config.hydra.sweep.dir), count_jobs(config), alone=False)
        try:
            watch.open_store()
        except UserError as error:  # Hydra would only warn of it
            print(masked(error), file=sys.stderr)
            raise SystemExit(2) from None
        interrupt.install()  # again: MLflow is imported now
        start(watch)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        end()


running: "Watch | None" = None
failed = False  # whether a job of this command failed


def start(watch: "Watch") -> None:
    global running, failed
    running, failed = watch, False
    watch.begin()


def end(stopped: bool = False) -> str:
    """Print the tables; the sentence that says how much is done, for a command that was stopped."""
    global running, failed
    if running is None:
        return "Stopped. The same command continues."
    watch, running = running, None
    failed = watch.finish(stopped)
    return watch.stopped()


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
        self.reports: dict[int, Report] = {}
        self.said: set[Any] = set()  # notes and ends of jobs that were printed
        self.begun = self.last = time.monotonic()
        self.console = Console(stderr=True)
        self.bar = Progress(
            BarColumn(bar_width=30, pulse_style="cyan"),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.line = self.bar.add_task("starting", total=None)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def open_store(self) -> None:
        """Database and experiment are made here, before several jobs could do it at once."""
        from sdsl.tracking.ledger import Ledger
        from sdsl.tracking.store import Store

        self.ledger = Ledger(Store(self.tracking.uri, self.tracking.experiment))
        for name in self.ledger.stale():
            self.say(f"killed earlier, now marked so: {name}")

    def begin(self) -> None:
        shutil.rmtree(self.folder / FOLDER, ignore_errors=True)
        (self.folder / FOLDER).mkdir(parents=True)
        self.bar.start()
        self.thread.start()

    def _watch(self) -> None:
        while not self.over.wait(POLL):
            self.show()

    def show(self) -> None:
        """Read the reports, print what is new, move the bar."""
        self.reports = read(self.folder)
        for report in self.reports.values():
            for text in report.notes:
                self._once(text, text)
            if report.ended and not self.alone:
                self._once(report.job, self._news(report))
        done = sum(report.share() for report in self.reports.values())
        text = self._text_alone() if self.alone else self._text()
        self.bar.update(self.line, description=text, completed=done, total=self.jobs)
        if not self.console.is_terminal and time.monotonic() > self.last + MINUTE:
            self.say(text)

    def _once(self, key: Any, text: str) -> None:
        if key not in self.said:
            self.said.add(key)
            if text:
                self.say(text)

    def _news(self, report: Report) -> str:
        if report.failure:
            return f"failed: {report.words}: {report.failure}"
        return "" if self.console.is_terminal else f"{self._text()} | {report.words}"

    def say(self, text: str) -> None:
        """A line to be read afterwards, too."""
        self.last = time.monotonic()
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _text(self) -> str:
        """'3 of 8 jobs, 1 failed, 1,240 segments, 1:35 left'"""
        reports = self.reports.values()
        ended = [report for report in reports if report.ended]
        text = f"{len(ended)} of {self.jobs or 'an unknown number of'} jobs"
        failures = sum(bool(report.failure) for report in ended)
        text += f", {failures} failed" if failures else ""
        now = [r for r in reports if not r.ended and r.T]
        text += "".join(f", job {r.job}: segment {r.t} of {r.T}" for r in now[:2])
        # Jobs that the store had say nothing about speed.
        known = [r for r in ended if not r.computed and not r.failure]
        done = sum(r.share() for r in reports) - len(known)
        return text + self._left(done, (self.jobs or 0) - len(known))

    def _text_alone(self) -> str:
        """'ours · satimage · seed 0: segment 3 of 21, Acc_t so far 83.20, 0:12 left'"""
        report = self.reports.get(0)
        if report is None:
            return "starting"
        text = report.stage
        if report.T:
            text += f": segment {report.t} of {report.T}, Acc_t so far {100 * report.online:.2f}"
        return text + self._left(report.share(), 1)

    def _left(self, done: float, total: float) -> str:
        """', 1:35 left'; nothing before anything is done and after the last."""
        if not 0 < done < total:
            return ""
        seconds = (time.monotonic() - self.begun) * (total - done) / done
        minutes, rest = divmod(round(seconds), 60)
        return f", {minutes // 60}:{minutes % 60:02}:{rest:02} left"

    def finish(self, stopped: bool) -> bool:
        """The tables and the failures; whether there are any."""
        self.over.set()
        self.thread.join()
        self.show()
        self.bar.stop()
        if self.ledger is not None:
            self.ledger.end_sweep(sweep_id(self.folder))  # of workers that were lost
        reports = list(self.reports.values())
        rows = table.of_reports(reports)
        if self.ledger is not None and len(reports) < (self.jobs or 0) and not stopped:
            rows = table.with_stored(rows, self.tracking, sweep_id(self.folder))
        table.print_tables(rows, self.tracking.uri)
        failures = [report for report in reports if report.failure]
        if not self.alone:  # the error of a single run is printed by the command
            for report in failures:
                print(f"FAILED {report.words}\n  {report.failure}", file=sys.stderr)
        shutil.rmtree(self.folder / FOLDER, ignore_errors=True)
        return bool(failures)

    def stopped(self) -> str:
        """'Stopped: 3 of 8 runs are done, 5 are left. The same command continues.'"""
        done = sum(len(report.runs) for report in self.reports.values())
        seeds = [report.seeds for report in self.reports.values() if report.row]
        total = sum(seeds) + self.seeds * ((self.jobs or len(seeds)) - len(seeds))
        return (
            f"Stopped: {done} of {total} runs are done, {total - done} are left. The same command "
            "continues."
        )
