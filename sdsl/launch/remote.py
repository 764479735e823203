"""A job on another machine: what is sent along with it, and how its result comes back.

Hydra's own plugins for Ray and submitit lose the sweep with the first job that fails and know
nothing of the ledger (and hydra-ray-launcher wants cloudpickle < 3, joblib >= 3), so each of the
two is one `_run` of our own.
"""

import copy
import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace

from hydra.types import HydraContext, TaskFunction
from omegaconf import open_dict, read_write

from sdsl.launch.launcher import SweepLauncher
from sdsl.launch.types import Job, JobResult
from sdsl.launch.worker import ONE_THREAD, failed, work
from sdsl.tracking.address import masked, shown, sqlite_file

INSTALL = "pip install 'sdsl[cluster]'"


@dataclass(frozen=True)
class Origin:
    """Where a job comes from: all that another machine needs besides the job itself."""

    folder: str
    environment: dict[str, str]
    task_function: TaskFunction
    hydra_context: HydraContext


def prepare(launcher: SweepLauncher, jobs: list[Job]) -> Origin:
    """Write the store's complete address into every job, and say where they come from."""
    for job in jobs:
        with open_dict(job.config):
            job.config.tracking.uri = job.place.uri
    environment = ONE_THREAD | {name: os.environ[name] for name in ("SDSL_HOME", "SDSL_HYDRA")}
    return Origin(os.getcwd(), environment, launcher.task_function, launcher.hydra_context)


def for_a_file(job: Job) -> Job:
    """The job without its store's login, which is left in the environment.

    submitit writes jobs to files that stay. Its jobs get the environment of the process that
    submits them (Slurm's --export=ALL, which is sbatch's default).
    """
    if masked(job.place.uri) == job.place.uri:
        return job
    name = f"SDSL_STORE_{hashlib.sha256(job.place.uri.encode()).hexdigest()[:8].upper()}"
    os.environ[name] = job.place.uri
    config = copy.deepcopy(job.config)
    with read_write(config), open_dict(config):
        config.tracking.uri = f"${{oc.env:{name}}}"
    with read_write(config.hydra), open_dict(config.hydra):  # it repeats the command line
        typed = config.hydra.overrides
        typed.task = [masked(word) for word in typed.task]
        typed.hydra = [masked(word) for word in typed.hydra]
        config.hydra.job.override_dirname = masked(config.hydra.job.override_dirname)
    return replace(job, config=config, place=replace(job.place, uri=masked(job.place.uri)))


def work_remotely(job: Job, origin: Origin) -> JobResult:
    """Run a job in the folder it comes from if that is shared, else in a new one."""
    os.environ.update(origin.environment)
    shared = os.path.isdir(origin.folder)
    os.chdir(origin.folder if shared else tempfile.mkdtemp(prefix="sdsl-"))
    file = sqlite_file(job.place.uri)
    if file and not file.exists():
        return failed(
            f"{shown(job.place.uri)} is not on this machine: give tracking.uri=http://... of a "
            "server"
        )
    return work(job, origin.task_function, origin.hydra_context)


def fetch(get: Callable[[], JobResult]) -> JobResult:
    """The result of a remote job, or why there is none: its node or process died for good."""
    try:
        return get()
    except Exception as error:
        lines = str(error).splitlines() or [""]
        return failed(f"{type(error).__name__}: {lines[0]}")
