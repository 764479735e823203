"""A sweep on a Ray cluster, or on a Ray that is started here for it."""

import logging
import os
import secrets
from collections.abc import Generator
from functools import partial
from types import ModuleType
from typing import Any

from sdsl import interrupt
from sdsl.config.build import build
from sdsl.errors import UserError
from sdsl.launch.launcher import SweepLauncher
from sdsl.launch.remote import INSTALL, fetch, prepare, work_remotely
from sdsl.launch.types import Job, JobResult, RaySettings
from sdsl.launch.worker import cores


class RayLauncher(SweepLauncher):
    """Known to Hydra as hydra_plugins.sdsl.RayLauncher."""

    def __init__(self, **settings: Any):
        self.settings = build(RaySettings, settings, "hydra.launcher")

    def _run(self, jobs: list[Job]) -> Generator[tuple[Job, JobResult]]:
        address = self.settings.address or os.environ.get("RAY_ADDRESS")
        ray = _connected(address)
        interrupt.install()  # Ray has put its own handlers in their place
        remote = ray.remote(num_cpus=self.settings.cpus, max_retries=self.settings.retries)
        submit, origin = remote(work_remotely).remote, prepare(self, jobs)
        waiting = {submit(job, origin): job for job in jobs}
        try:
            while waiting:
                (ended,), _ = ray.wait(list(waiting))
                yield waiting.pop(ended), fetch(partial(ray.get, ended))
        finally:
            for task in waiting:
                ray.cancel(task, force=True)
            ray.shutdown()


def _connected(address: str | None) -> ModuleType:
    """Ray, connected to the cluster at the address, or to one of our own without an address."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not address:
        # A Ray of our own lets in nobody else; without a token it would write one to ~/.ray.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        import ray
    except ImportError:
        raise UserError(f"hydra/launcher=ray needs Ray: {INSTALL}") from None
    small = {"num_cpus": cores(), "include_dashboard": False, "object_store_memory": 10**8}
    options: dict[str, Any] = {} if address else small
    for last in (False, True):  # a Ray of our own has 15 s to start: too few beside other work
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
            break
        except Exception as error:
            ray.shutdown()
            if last or address:
                where = f"at {address}" if address else "could be started here"
                raise UserError(f"hydra/launcher=ray: no Ray {where}: {error}") from None
    return ray
