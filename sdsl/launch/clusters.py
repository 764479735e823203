"""The same sweep on more than one machine: Ray, or Slurm through submitit; all else as at home.

Hydra's own plugins for both lose the sweep with the first job that fails and know nothing of the
ledger (and hydra-ray-launcher wants cloudpickle < 3, joblib >= 3), so each is one `_run` here.
"""

import os
import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

from hydra.core.utils import JobReturn
from omegaconf import open_dict

from sdsl import interrupt
from sdsl.errors import UserError
from sdsl.launch.local import ONE_THREAD, TRIES, Job, LocalLauncher, _cores, _failed, _work

EXTRA = "pip install 'sdsl[cluster]'"


class RayLauncher(LocalLauncher):
    """Known to Hydra as hydra_plugins.sdsl.RayLauncher."""

    def _run(self, jobs: list[Job]) -> Iterator[tuple[Job, JobReturn]]:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        address = self.joblib["address"] or os.environ.get("RAY_ADDRESS")
        if not address:
            # A Ray of our own lets in nobody else; without a token it would write one to ~/.ray.
            os.environ.setdefault("RAY_AUTH_MODE", "token")
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        try:
            import ray
        except ImportError:
            raise UserError(f"hydra/launcher=ray needs Ray: {EXTRA}") from None
        _connect(ray, address)
        interrupt.install()  # Ray has put its own in their place
        remote = ray.remote(num_cpus=self.joblib["cpus"], max_retries=self.joblib["retries"])
        work, arguments = remote(there), luggage(self, jobs)
        waiting = {work.remote(job, *arguments): job for job in jobs}
        try:
            while waiting:
                (ended,), _ = ray.wait(list(waiting))
                yield waiting.pop(ended), _fetch(partial(ray.get, ended))
        finally:
            for task in waiting:
                ray.cancel(task, force=True)
            ray.shutdown()


def _connect(ray, address: str | None) -> None:
    own = {"num_cpus": _cores(), "include_dashboard": False, "object_store_memory": 10**8}
    for last in (False, True):  # a Ray of our own has 15 s to start: too few beside other work
        try:
            words = {} if address else own
            ray.init(address=address, log_to_driver=False, logging_level="error", **words)
            return
        except Exception as error:
            ray.shutdown()
            if last or address:
                where = f"at {address}" if address else "could be started here"
                raise UserError(f"hydra/launcher=ray: no Ray {where}: {error}") from None


class SubmititLauncher(LocalLauncher):
    """Known to Hydra as hydra_plugins.sdsl.SubmititLauncher."""

    def _run(self, jobs: list[Job]) -> Iterator[tuple[Job, JobReturn]]:
        try:
            import submitit
        except ImportError:
            raise UserError(f"hydra/launcher=submitit_* needs submitit: {EXTRA}") from None
        settings = dict(self.joblib)
        cluster, slots, pause = (settings.pop(name) for name in ("cluster", "n_jobs", "poll"))
        slots = slots or len(jobs)
        try:
            executor = submitit.AutoExecutor(settings.pop("folder"), cluster)
            executor.update_parameters(**settings)
        except Exception as error:  # no sbatch here, or a parameter Slurm does not have
            raise UserError(f"submitit, cluster {cluster}: {error}") from None
        arguments, tries = luggage(self, jobs), Counter()
        queue, active = list(jobs), {}
        try:
            while queue or active:
                batch = [queue.pop(0) for _ in range(min(len(queue), slots - len(active)))]
                if batch:
                    with executor.batch():  # one array
                        tasks = [executor.submit(there, job, *arguments) for job in batch]
                    active |= zip(tasks, batch, strict=True)
                for task in [task for task in active if task.done()]:
                    job = active.pop(task)
                    tries[job.index] += 1
                    if task.exception() and tries[job.index] < TRIES:
                        queue.append(job)  # its process was killed
                    else:
                        yield job, _fetch(task.result)
                time.sleep(pause)
        finally:
            for task in active:
                task.cancel()


def luggage(launcher: LocalLauncher, jobs: list[Job]) -> tuple:
    """What goes along with each job: where it is at home, and the store's full address."""
    for job in jobs:
        with open_dict(job.config):
            job.config.tracking.uri, _ = job.place
    words = ONE_THREAD | {"SDSL_HOME": os.environ["SDSL_HOME"]}
    return os.getcwd(), words, launcher.task_function, launcher.hydra_context


def there(job: Job, folder: str, words: dict, task_function, hydra_context) -> JobReturn:
    """One job on another machine: in the same folder if it is shared, else in one of its own."""
    os.environ.update(words)
    os.chdir(folder if os.path.isdir(folder) else tempfile.mkdtemp(prefix="sdsl-"))
    uri = job.config.tracking.uri
    if uri.startswith("sqlite:") and not os.path.exists(uri.partition("///")[2].partition("?")[0]):
        return _failed(f"{uri} is not on this machine: give tracking.uri=http://... of a server")
    return _work(job, task_function, hydra_context)


def _fetch(get) -> JobReturn:
    try:
        return get()
    except Exception as error:  # the node or its process died, and was given up
        lines = str(error).splitlines() or [""]
        return _failed(f"{type(error).__name__}: {lines[0]}")
