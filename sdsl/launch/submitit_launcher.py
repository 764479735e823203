"""A sweep on Slurm through submitit, or on this machine as a rehearsal of it."""

import time
from collections import Counter
from collections.abc import Generator
from dataclasses import fields
from typing import Any

from sdsl.config.build import build
from sdsl.errors import UserError
from sdsl.launch.launcher import SweepLauncher
from sdsl.launch.remote import INSTALL, fetch, for_a_file, prepare, work_remotely
from sdsl.launch.types import Job, JobResult, SubmititSettings
from sdsl.launch.worker import TRIES

OURS = {field.name for field in fields(SubmititSettings)}


class SubmititLauncher(SweepLauncher):
    """Known to Hydra as hydra_plugins.sdsl.SubmititLauncher."""

    outlived = "submitit "  # a job of Slurm goes on when the sweep's process is killed

    def __init__(self, **settings: Any):
        ours = {name: value for name, value in settings.items() if name in OURS}
        self.settings = build(SubmititSettings, ours, "hydra.launcher")
        # The rest is for submitit itself, which checks it: timeout_min, mem_gb, slurm_* ...
        self.parameters = {name: settings[name] for name in settings if name not in OURS}

    def _run(self, jobs: list[Job]) -> Generator[tuple[Job, JobResult]]:
        executor, origin = self._executor(), prepare(self, jobs)
        slots = self.settings.n_jobs or len(jobs)
        tries: Counter[int] = Counter()
        queue = list(jobs)
        active: dict[Any, Job] = {}
        try:
            while queue or active:
                batch = [queue.pop(0) for _ in range(min(len(queue), slots - len(active)))]
                if batch:
                    with executor.batch():  # one array
                        files = [for_a_file(job) for job in batch]
                        tasks = [executor.submit(work_remotely, job, origin) for job in files]
                    active |= zip(tasks, batch, strict=True)
                for task in [task for task in active if task.done()]:
                    job = active.pop(task)
                    tries[job.index] += 1
                    if task.exception() and tries[job.index] < TRIES:
                        queue.append(job)  # its process was killed
                    else:
                        yield job, fetch(task.result)
                time.sleep(self.settings.poll)
        finally:
            for task in active:
                task.cancel()

    def _executor(self) -> Any:
        try:
            import submitit
        except ImportError:
            raise UserError(f"hydra/launcher=submitit_* needs submitit: {INSTALL}") from None
        try:
            executor = submitit.AutoExecutor(self.settings.folder, self.settings.cluster)
            executor.update_parameters(**self.parameters)
        except Exception as error:  # no sbatch here, or a parameter Slurm does not have
            raise UserError(f"submitit, cluster {self.settings.cluster}: {error}") from None
        return executor
