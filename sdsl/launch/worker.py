"""One job in the process that runs it, on this machine or another."""

import os
import threading
import time

from hydra.core.utils import run_job, setup_globals
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from sdsl import interrupt
from sdsl.config import foreign
from sdsl.errors import UserError
from sdsl.launch.screen import Reporter
from sdsl.launch.sharing import Held
from sdsl.launch.types import Job, JobResult
from sdsl.tracking.address import masked

TRIES = 2  # of a job whose process is killed
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}


def work(job: Job, task_function: TaskFunction, hydra_context: HydraContext) -> JobResult:
    """Run a job whose config is composed already; an exception becomes a failure."""

    def task(config: DictConfig) -> JobResult:
        try:
            screen = Reporter(job.steps)
            return JobResult(report=task_function(config, job.tags, screen))  # type: ignore[call-arg]
        except Held as others:
            return JobResult(held=str(others))
        except UserError as error:
            return failed(str(error))
        except Exception as error:
            return failed(foreign.place(error) or f"{type(error).__name__}: {error}")

    setup_globals()
    done = run_job(task, job.config, "hydra.sweep.dir", "hydra.sweep.subdir", hydra_context)
    return done.return_value


def failed(cause: str) -> JobResult:
    return JobResult(failure=masked(cause))


def begin(parent: int) -> None:
    """A worker ends with its parent, even by SIGKILL: nothing may run on behind a rerun."""
    interrupt.ignore()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def cores() -> int:
    """Those this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
