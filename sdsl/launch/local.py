"""The default launcher: one process per core; a killed process costs no other job.

Hydra's joblib launcher loses the whole sweep with one killed worker. Here each slot is a pool of
one process, so only one job is lost, and it is tried once more. All jobs are composed and checked
first, and the longest are started first.
"""

import logging
import multiprocessing
import os
import signal
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from hydra.core import utils
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from sdsl import interrupt
from sdsl.errors import UserError
from sdsl.launch import screen
from sdsl.launch.job import plain
from sdsl.launch.report import Report, Reporter
from sdsl.tracking.address import masked

TRIES = 2  # of a job whose process is killed
DEAD = f"its process was killed {TRIES} times; out of memory?"
log = logging.getLogger(__name__)


@dataclass
class Job:
    index: int
    words: str
    config: DictConfig
    cost: float
    tries: int = 0


class LocalLauncher(Launcher):
    """hydra/launcher=local"""

    def __init__(self, n_jobs: int):
        self.n_jobs = n_jobs  # -1: one per core

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self.context, self.task, self.config = hydra_context, task_function, config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        utils.setup_globals()
        utils.configure_log(self.config.hydra.hydra_logging, self.config.hydra.verbose)
        Path(self.config.hydra.sweep.dir).mkdir(parents=True, exist_ok=True)
        jobs: list[Job] = []
        for n, words in enumerate(job_overrides, initial_job_idx):
            jobs.append(self._job(n, words))
            screen.checked(len(jobs))
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        slots = min(len(jobs), self.n_jobs if self.n_jobs > 0 else cores or 1)
        log.info(f"Launching {len(jobs)} jobs in {slots} process{'es' if slots > 1 else ''}")
        for job in jobs:
            log.info(f"\t#{job.index} : {job.words}")
        if slots == 1:
            return [work(job.config, self.task, self.context) for job in jobs]
        returns = self._in_processes(sorted(jobs, key=lambda job: -job.cost), slots)
        return [returns[job.index] for job in jobs]

    def _job(self, index: int, words: Sequence[str]) -> Job:
        """A job composed and checked; a refusal quotes its overrides."""
        from sdsl import datasets
        from sdsl.config import setup

        config = self.context.config_loader.load_sweep_config(self.config, list(words))
        with open_dict(config):
            config.hydra.job.id = config.hydra.job.num = index
        typed = masked(" ".join(utils.filter_overrides(words)))
        try:
            made = setup(plain(config))
            datasets.check(made.config["dataset"])
        except UserError as error:
            raise UserError(f"{error}\n(in the job {typed})") from None
        shapes = [s.get("expect") for s in (config.dataset, *config.dataset.sources)]
        rows = [shape[0] for shape in shapes if shape]  # 0: a file that is not known
        size = made.dataset.segment_size or 1  # 1: a column says; such jobs are started first
        T = min(max(rows, default=0) / size, made.stream.max_segments or float("inf"))
        cost = T * T * size * len(made.seeds)  # cells of R times rows
        return Job(index, typed, config, cost or float("inf"))

    def _in_processes(self, queue: list[Job], slots: int) -> dict[int, JobReturn]:
        returns: dict[int, JobReturn] = {}
        running: dict[Future[JobReturn], tuple[ProcessPoolExecutor | None, Job]] = {}

        def begin(job: Job, pool: ProcessPoolExecutor | None = None) -> None:
            job.tries += 1
            pool = pool or ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
            # Its process starts here, with Ctrl-C blocked: the command alone handles it.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            running[pool.submit(work, job.config, self.task, self.context)] = pool, job
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])

        try:
            for _ in range(slots):
                begin(queue.pop(0))
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    pool, job = running.pop(future)
                    try:
                        returns[job.index] = future.result()
                    except BrokenProcessPool:
                        pool = None
                        if job.tries < TRIES:
                            queue.insert(0, job)
                        else:
                            returns[job.index] = self._dead(job)
                    if queue:
                        begin(queue.pop(0), pool)
            return returns
        finally:
            for child in multiprocessing.active_children():
                child.kill()
                child.join()

    def _dead(self, job: Job) -> JobReturn:
        tell = Reporter(Path(self.config.hydra.sweep.dir), Report(job.index, job.words))
        tell(ended=True, failure=DEAD)
        done = JobReturn(status=JobStatus.COMPLETED)
        done.return_value = float("nan")
        return done


def work(config: DictConfig, task: TaskFunction, context: HydraContext) -> JobReturn:
    """One job, in the process that runs it."""
    utils.setup_globals()
    interrupt.end_with_command()
    return utils.run_job(task, config, "hydra.sweep.dir", "hydra.sweep.subdir", context)


def register() -> None:
    """Tell Hydra of the launcher as hydra_plugins.sdsl.LocalLauncher: it wants that prefix."""
    LocalLauncher.__module__ = "hydra_plugins.sdsl"
    Plugins.instance().register(LocalLauncher)
    LocalLauncher.__module__ = __name__
