"""All cores of this machine, one process a core: a job that fails or dies costs no other job.

joblib's launcher loses the whole sweep when one worker is killed; here each slot is a pool of one
(loky, joblib's own), so that a death is one job's, is known, and is tried again.
"""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from hydra.core.utils import JobReturn, JobStatus, filter_overrides, run_job, setup_globals
from hydra_plugins.hydra_joblib_launcher.joblib_launcher import JoblibLauncher
from omegaconf import DictConfig, open_dict

from sdsl import interrupt
from sdsl.errors import UserError
from sdsl.tracking import provenance

TRIES = 2  # of a job whose worker is killed
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}


@dataclass(frozen=True)
class Job:
    """One point of a sweep, composed and checked."""

    index: int
    tags: dict[str, str]  # of its runs
    overrides: str
    config: DictConfig  # with its hydra node
    seeds: int
    cost: float

    @property
    def place(self) -> tuple[str, str]:
        """Its ledger."""
        from sdsl.tracking.client import store_uri

        return store_uri(self.config.tracking.uri), self.config.tracking.experiment


class LocalLauncher(JoblibLauncher):
    """Known to Hydra as hydra_plugins.sdsl.LocalLauncher."""

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        from sdsl.config import help as choices
        from sdsl.launch import screen as progress
        from sdsl.tracking.ledger import Ledger

        setup_globals()
        choices.refuse_duplicates(choices.roots(self.config.hydra))
        jobs = [self._job(initial_job_idx + i, words) for i, words in enumerate(job_overrides)]
        # The store is made here, before any worker: two processes at once would break a new one.
        ledgers = {place: Ledger(*place) for place in {job.place for job in jobs}}
        for ledger in ledgers.values():
            ledger.adopt_stale()
        watch = progress.Sweep(jobs)
        try:
            with watch:
                for job, done in self._run(sorted(jobs, key=lambda job: -job.cost)):
                    watch.finished(job, done)
                    if done.status == JobStatus.FAILED:  # a process that was killed marks nothing
                        ledgers[job.place].end("FAILED", str(done._return_value), **job.tags)
        except BaseException:
            for ledger in ledgers.values():
                ledger.client.patience = 1.0  # whoever types Ctrl-C has none
            raise
        finally:
            for ledger in ledgers.values():
                ledger.end("KILLED", sweep=provenance.process())
        watch.report()
        if watch.failures:
            raise SystemExit(1)
        return [watch.done[job.index] for job in jobs]

    def _job(self, index: int, words: Sequence[str]) -> Job:
        from sdsl import experiment
        from sdsl.launch import job

        told = " ".join(filter_overrides(words))
        config = self.hydra_context.config_loader.load_sweep_config(self.config, list(words))
        with open_dict(config):
            config.hydra.job.id = config.hydra.job.num = index
        try:
            plain = job.plain(config)
            experiment.check(plain)
        except UserError as error:
            raise UserError(f"{error}\n(in the job {told})") from None
        tags = {"sweep": provenance.process(), "job": str(index)}
        return Job(index, tags, told, config, len(plain["seed"]["values"]), cost(plain))

    def _run(self, jobs: list[Job]):
        """(job, its return) as they end; one job, or one core, needs no other process."""
        asked = self.joblib.get("n_jobs", -1)
        if not isinstance(asked, int):
            raise UserError(f"hydra.launcher.n_jobs={asked}: expected a number; -1 is all cores.")
        slots = min(len(jobs), asked if asked > 0 else _cores())
        arguments = (self.task_function, self.hydra_context)
        if slots <= 1:
            yield from ((job, _work(job, *arguments)) for job in jobs)
            return
        pools = Pools()
        threads = ThreadPoolExecutor(slots)
        try:
            waiting = {threads.submit(pools.run, job, arguments): job for job in jobs}
            for ended in as_completed(waiting):
                yield waiting[ended], ended.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            pools.kill()


class Pools:
    """A loky pool of one worker per thread, made again after a death."""

    def __init__(self):
        # Imported by one thread, before there are others: joblib's import is circular.
        from joblib.externals.loky import process_executor

        self.loky = process_executor
        self.own = threading.local()
        self.all: list[Any] = []
        self.lock, self.stopped = threading.Lock(), False

    def run(self, job: Job, arguments: tuple) -> JobReturn:
        for _ in range(TRIES):
            try:
                return self._submit(job, arguments).result()
            except self.loky.BrokenProcessPool:
                self.own.pool = None
            except Exception as error:  # stopped, or the job's return could not be carried over
                return _failed(f"{type(error).__name__}: {error}")
        return _failed(f"its process was killed {TRIES} times; out of memory?")

    def _submit(self, job: Job, arguments: tuple) -> Future:
        if getattr(self.own, "pool", None) is None:
            with self.lock:
                if self.stopped:
                    raise RuntimeError("the sweep was stopped")
                self.own.pool = self.loky.ProcessPoolExecutor(
                    1, env=ONE_THREAD, initializer=_begin, initargs=(os.getpid(),)
                )
                self.all.append(self.own.pool)
        return self.own.pool.submit(_work, job, *arguments)

    def kill(self) -> None:
        with self.lock:
            self.stopped = True
        for pool in self.all:
            pool.shutdown(wait=True, kill_workers=True)


def _work(job: Job, task_function, hydra_context) -> JobReturn:
    """What hydra_joblib_launcher does in a worker, with a config that is composed already."""
    setup_globals()
    provenance.job = job.tags
    done = run_job(
        task_function, job.config, "hydra.sweep.dir", "hydra.sweep.subdir", hydra_context
    )
    if done.status == JobStatus.FAILED:
        error = done._return_value
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        return _failed(f"{kind}{error}")
    done.cfg = done.hydra_cfg = None  # the parent knows them
    return done


def _failed(cause: str) -> JobReturn:
    done = JobReturn(status=JobStatus.FAILED)
    done.return_value = cause
    return done


def _begin(parent: int) -> None:
    """A worker ends when its parent does, even by SIGKILL: nothing may run on behind a rerun."""
    interrupt.ignore()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cost(config: dict[str, Any]) -> float:
    """A guess at a job's length, for starting long ones first: cells of R times rows a segment."""
    dataset = config["dataset"]
    size, rows = int(dataset["segment_size"]), (dataset.get("expect") or {}).get("rows")
    if not rows:
        return float("inf")  # unknown: it may be the longest
    T = min(rows // size - 1, config["stream"]["max_segments"] or rows)
    return float(T * T * size)
