"""All cores of this machine, one process per core: a job that fails or dies costs no other job.

joblib's launcher loses the whole sweep when one worker is killed. Here each slot is a pool of one
process (loky, joblib's own), so that a death concerns one job, is known, and is tried again.
"""

import os
import signal
import threading
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import Any

from hydra.types import HydraContext, TaskFunction

from sdsl.config.build import build
from sdsl.launch.launcher import SweepLauncher
from sdsl.launch.types import Job, JobResult, LocalSettings
from sdsl.launch.worker import ONE_THREAD, TRIES, begin, cores, failed, work


class LocalLauncher(SweepLauncher):
    """Known to Hydra as hydra_plugins.sdsl.LocalLauncher."""

    def __init__(self, **settings: Any):
        self.settings = build(LocalSettings, settings, "hydra.launcher")

    def _run(self, jobs: list[Job]) -> Generator[tuple[Job, JobResult]]:
        """One job, or one slot, needs no other process."""
        asked = self.settings.n_jobs
        slots = min(len(jobs), asked if asked > 0 else cores())
        if slots <= 1:
            for job in jobs:
                yield job, work(job, self.task_function, self.hydra_context)
            return
        pools = Pools(self.task_function, self.hydra_context)
        threads = ThreadPoolExecutor(slots)
        try:
            waiting = {threads.submit(pools.run, job): job for job in jobs}
            for ended in as_completed(waiting):
                yield waiting[ended], ended.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            pools.kill()


class Pools:
    """A loky pool of one worker per thread, made again after a death."""

    def __init__(self, task_function: TaskFunction, hydra_context: HydraContext):
        # Imported by one thread, before there are others: joblib's import is circular.
        from joblib.externals.loky import process_executor

        self.task_function, self.hydra_context = task_function, hydra_context
        self.loky = process_executor
        self.of_thread = threading.local()
        self.all: list[Any] = []
        self.lock, self.stopped = threading.Lock(), False

    def run(self, job: Job) -> JobResult:
        for _ in range(TRIES):
            try:
                return self._submit(job).result()
            except self.loky.BrokenProcessPool:
                self.of_thread.pool = None
            except Exception as error:  # stopped, or the job's result could not be carried over
                return failed(f"{type(error).__name__}: {error}")
        return failed(f"its process was killed {TRIES} times; out of memory?")

    def _submit(self, job: Job) -> "Future[JobResult]":
        if getattr(self.of_thread, "pool", None) is None:
            with self.lock:
                if self.stopped:
                    raise RuntimeError("the sweep was stopped")
                self.of_thread.pool = self.loky.ProcessPoolExecutor(
                    1, env=ONE_THREAD, initializer=begin, initargs=(os.getpid(),)
                )
                self.all.append(self.of_thread.pool)
        return self.of_thread.pool.submit(work, job, self.task_function, self.hydra_context)

    def kill(self) -> None:
        with self.lock:
            self.stopped = True
        for pool in self.all:
            # The pool itself would wait for its own thread, which may wait for a worker that never
            # came to life.
            workers = list((pool._processes or {}).values())
            pool.shutdown(wait=False, kill_workers=True)
            for worker in workers:
                with suppress(OSError):  # it has ended
                    os.kill(worker.pid, signal.SIGKILL)
            for worker in workers:
                worker.join(1.0)
