"""What every launcher does: check all jobs of a sweep, run the long ones first, report the end."""

import sys
import tempfile
from abc import abstractmethod
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from hydra.core.utils import JobReturn, JobStatus, filter_overrides, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from sdsl import interrupt
from sdsl.config.help import config_folders, refuse_duplicates
from sdsl.errors import UserError
from sdsl.launch.composer import Composer
from sdsl.launch.job import plain
from sdsl.launch.screen import SweepScreen, announced
from sdsl.launch.sharing import adopted
from sdsl.launch.steps import Steps
from sdsl.launch.summary import print_summary
from sdsl.launch.types import Job, JobResult, Place
from sdsl.tracking.address import masked, store_uri
from sdsl.tracking.process import this_process
from sdsl.tracking.provenance import JobTags

if TYPE_CHECKING:
    from sdsl.config.schema import Setup
    from sdsl.tracking.ledger import Ledger


class SweepLauncher(Launcher):
    """A launcher is a `_run` that yields each job's result as it comes."""

    outlived = ""  # a word before the sweep's process says that its jobs may live longer than it

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    @abstractmethod
    def _run(self, jobs: list[Job]) -> Generator[tuple[Job, JobResult]]:
        """Run the jobs, started in this order; a job that fails or dies costs no other job."""

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        setup_globals()
        refuse_duplicates(config_folders(self.config.hydra))
        words = [masked("\n".join(filter_overrides(one))).split("\n") for one in job_overrides]
        print(announced(words), file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="sdsl-steps-") as folder:
            return self._launch(job_overrides, initial_job_idx, folder)

    def _launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int, folder: str
    ) -> Sequence[JobReturn]:
        from sdsl.tracking.ledger import Ledger

        sweep = f"{self.outlived}{this_process()}"
        compose = Composer(self.hydra_context.config_loader, self.config)
        jobs = [
            self.prepare(compose, JobTags(sweep, index, waits=False), words, Steps(folder, index))
            for index, words in enumerate(job_overrides, initial_job_idx)
        ]
        places = {job.place for job in jobs}
        ledgers = {place: Ledger(place.uri, place.experiment) for place in places}
        screen = SweepScreen(jobs)
        for ledger in ledgers.values():
            if names := ledger.adopt_stale():
                screen.say(adopted(names))
        interrupt.install()  # again: everything is imported now
        try:
            with screen:
                held: list[Job] = []
                # However this ends, the workers end before their runs are marked below.
                with closing(self._run(sorted(jobs, key=lambda job: -job.cost))) as results:
                    for job, result in results:
                        if result.held:
                            screen.say(f"put off: {job.overrides}: {result.held}")
                            held.append(replace(job, tags=replace(job.tags, waits=True)))
                        else:
                            self._ended(job, result, screen, ledgers[job.place])
                # All that is left is being made by others. Who waits for it takes it over if need
                # be; and while nothing is heard of another host, all its runs are looked at here.
                with closing(self._run(held) if held else _none()) as results:
                    for job, result in results:
                        self._ended(job, result, screen, ledgers[job.place])
                        ledgers[job.place].adopt_stale(but=sweep)
        except BaseException:
            for ledger in ledgers.values():
                ledger.client.patience = 1.0  # whoever types Ctrl-C has none
            raise
        finally:
            for ledger in ledgers.values():
                ledger.end("KILLED", sweep)
        reports = screen.reports()
        # Where seeds are jobs of their own, their parent has waited for all of them.
        late = {one.group: ledgers[job.place] for job, one in screen.ended(jobs) if not one.parent}
        parents = {group: ledger.complete(group) for group, ledger in late.items()}
        reports = [replace(one, parent=parents.get(one.group, one.parent)) for one in reports]
        print_summary(reports, jobs[0].config.sort)
        screen.list_failures()
        if screen.failures:
            raise SystemExit(1)
        return [_returned(report) for report in reports]

    def _ended(self, job: Job, result: JobResult, screen: SweepScreen, ledger: "Ledger") -> None:
        screen.finished(job, result)
        if result.failure:  # a process that was killed has marked nothing
            ledger.end("FAILED", job.tags.sweep, job.index, result.failure)

    def prepare(self, compose: Composer, tags: JobTags, words: Sequence[str], steps: Steps) -> Job:
        """A job composed and checked; what is wrong with its words is said here."""
        from sdsl import experiment

        overrides = masked(" ".join(filter_overrides(words)))
        config = compose(words)
        with open_dict(config):
            config.hydra.job.id = config.hydra.job.num = tags.job
        try:
            setup = experiment.setup(plain(config))
        except UserError as error:
            raise UserError(f"{error}\n(in the job {overrides})") from None
        place = Place(store_uri(setup.tracking.uri), setup.tracking.experiment)
        long = segments(setup)
        cost = guess(setup, long)
        return Job(tags.job, tags, overrides, config, place, len(setup.seeds), cost, long, steps)


def segments(setup: "Setup") -> int | None:
    """How many a job has, if its stream is one whose length conf/ says."""
    rows = (setup.config["dataset"].get("expect") or {}).get("rows")
    if not rows:
        return None
    return min(rows // setup.dataset.segment_size - 1, setup.stream.max_segments or rows)


def guess(setup: "Setup", long: int | None) -> float:
    """At a job's length: cells of R times rows per segment; what is unknown may be the longest."""
    return float("inf") if long is None else float(long * long * setup.dataset.segment_size)


def _none() -> Generator[tuple[Job, JobResult]]:
    yield from ()


def _returned(report: object) -> JobReturn:
    """In the form that Hydra's sweeper expects."""
    done = JobReturn(status=JobStatus.COMPLETED)
    done.return_value = report
    return done
