"""MLflow as the ledger: a run counts when it is FINISHED and holds its R.

On one machine a file lock per run, named by its run_key, keeps two processes from making the same
run. The system frees the lock of a process that dies, so a RUNNING run of this machine whose lock
is free was killed. Several machines on one server may make a run twice, with the same result.
"""

import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from filelock import Timeout
from mlflow.entities import Metric, Run

from sdsl.tracking import provenance, record
from sdsl.tracking.address import masked
from sdsl.tracking.identity import Group, run_key
from sdsl.tracking.results import holds, load_curves, numbers, search
from sdsl.tracking.store import Store

if TYPE_CHECKING:  # torch takes seconds, and workers have it anyway
    from sdsl.experiment import Trial

PARENT = "mlflow.parentRunId"
SPREAD = ["acc_online", "acc_final", "forgetting", "bwt", "fwt", "prequential"]
MEAN_OF = "mean_of"  # the tag of a parent that says of which runs its numbers are the mean


@dataclass(frozen=True)
class Finished:
    """A finished run, as far as a table needs it."""

    seed: int
    run_id: str
    metrics: dict[str, float]


class Ledger:
    """The runs of one experiment."""

    def __init__(self, store: Store):
        self.store, self.client = store, store.client

    def finished(self, group: Group) -> dict[int, Finished]:
        """seed -> its newest finished run."""
        return {
            seed: Finished(seed, run.info.run_id, numbers(run))
            for seed, run in self._finished(group).items()
        }

    @contextmanager
    def recording(
        self,
        group: Group,
        seed: int,
        tags: Mapping[str, str] | None = None,
        force: bool = False,
        waiting: Callable[[], object] = lambda: None,
    ) -> Iterator[str | None]:
        """The id of a new RUNNING run, or None if another process has finished it meanwhile.

        While another process of this machine makes it, this one calls `waiting` and waits. An
        exception inside makes the run FAILED, Ctrl-C makes it KILLED.
        """
        key = run_key(group.group_key, seed)
        with self.store.lock(key, waiting=waiting):
            for run in filter(_is_of_here, self._running(f"tags.run_key = '{key}'")):
                self.client.set_terminated(run.info.run_id, "KILLED")
            if not force and seed in self._finished(group):
                yield None
                return
            own = {"kind": "run", "seed": str(seed), "run_key": key, PARENT: self._parent(group)}
            run_id = self._create(f"{group.names} · seed {seed}", group, {**(tags or {}), **own})
            try:
                yield run_id
            except Exception:
                self._end(run_id, "FAILED", traceback.format_exc())
                raise
            except BaseException:
                self._end(run_id, "KILLED")
                raise

    def log(self, run_id: str, group: Group, seed: int, trial: "Trial") -> Finished:
        """All numbers and files of a run; it becomes FINISHED last."""
        # The store's address may hold a password, and is no part of the run.
        tracking = {**group.config["tracking"], "uri": None}
        config = {**group.config, "seed": {"values": [seed]}, "tracking": tracking}
        source = "{source}, {standing}, SHA-256 {data_sha256:.12}".format(**group.tags)
        with tempfile.TemporaryDirectory() as name:
            title = f"{group.names} · seed {seed}"
            record.write_files(Path(name), config, trial, title, source)
            self.client.log_artifacts(run_id, name)
        record.log(self.client, run_id, record.points(trial), record.params(config, seed))
        self.client.set_terminated(run_id, "FINISHED")
        return Finished(seed, run_id, record.results(trial))

    def update_parent(self, group: Group) -> str:
        """The parent, its metrics and curves now the mean over the finished seeds."""
        with self.store.lock(group.group_key):
            parent = self._oldest_parent(group)
            seeds = list(self._finished(group).values())
            if parent is None or not seeds:
                return "" if parent is None else parent.info.run_id
            run_id = parent.info.run_id
            for run in seeds:
                if run.data.tags.get(PARENT) != run_id:  # made by another machine at the same time
                    self.client.set_tag(run.info.run_id, PARENT, run_id)
            last = max(run.info.end_time for run in seeds)
            if parent.data.tags.get(MEAN_OF) != f"{len(seeds)} runs until {last}":
                points = _means(seeds) + self._mean_curves(run_id, seeds)
                record.log(self.client, run_id, points, [])
                self.client.set_tag(run_id, MEAN_OF, f"{len(seeds)} runs until {last}")
                self.client.set_terminated(run_id, "FINISHED", last)
            return run_id

    def stale(self) -> list[str]:
        """The names of runs of this machine whose process has died; they are KILLED now."""
        killed = []
        for run in filter(_is_of_here, self._running("tags.kind = 'run'")):
            with suppress(Timeout), self.store.lock(run.data.tags["run_key"], wait=False):
                now = self.client.get_run(run.info.run_id).info  # it may have ended meanwhile
                if now.status == "RUNNING":
                    self.client.set_terminated(now.run_id, "KILLED")
                    killed.append(now.run_name)
        return killed

    def end_sweep(self, sweep: str) -> list[str]:
        """The names of runs that a sweep's lost workers left, on any machine; KILLED now."""
        left = self._running(f"tags.sweep = '{sweep}'")
        for run in left:
            self.client.set_terminated(run.info.run_id, "KILLED")
        return [run.info.run_name for run in left]

    def _finished(self, group: Group) -> dict[int, Run]:
        where = f"tags.group_key = '{group.group_key}' and tags.kind = 'run'"
        runs = search(self.store, f"{where} and attributes.status = 'FINISHED'")
        kept = [run for run in runs if holds(self.client, run, "R.npy")]
        newest = {int(run.data.tags["seed"]): run for run in kept}
        return {seed: newest[seed] for seed in sorted(newest)}

    def _running(self, where: str) -> list[Run]:
        return search(self.store, f"{where} and attributes.status = 'RUNNING'")

    def _parent(self, group: Group) -> str:
        """The run that all seeds of a group stand below, made once."""
        with self.store.lock(group.group_key):
            if known := self._oldest_parent(group):
                return known.info.run_id
            run_id = self._create(str(group.names), group, {"kind": "group"})
            record.log(self.client, run_id, [], record.params(group.config))
            self.client.set_terminated(run_id, "FINISHED")
            return run_id

    def _oldest_parent(self, group: Group) -> Run | None:
        where = f"tags.group_key = '{group.group_key}' and tags.kind = 'group'"
        return next(iter(search(self.store, where)), None)

    def _mean_curves(self, parent: str, seeds: Sequence[Run]) -> list[Metric]:
        """Also as a file. MLflow keeps all points, so the name says of how many seeds."""
        steps = pd.concat([load_curves(run.info, self.store.uri) for run in seeds]).groupby("step")
        mean, std = steps.mean(), steps.std().add_suffix("_std")
        self.client.log_text(parent, mean.join(std).to_csv(**record.CSV), "curves.csv")
        drawn, place = [name for name in record.CURVES if name in mean], f"mean of {len(seeds)}"
        return [point for name in drawn for point in record.curve(f"{place}/{name}", mean[name])]

    def _create(self, name: str, group: Group, tags: Mapping[str, str]) -> str:
        all_tags, place = record.tags(group) | dict(tags), self.store.experiment_id
        run_id = self.client.create_run(place, run_name=name, tags=all_tags).info.run_id
        self.client.log_inputs(run_id, datasets=[record.dataset(group)])
        return run_id

    def _end(self, run_id: str, status: str, why: str = "") -> None:
        with suppress(Exception):  # the store is gone, too: a later command ends the run
            self.client.set_terminated(run_id, status)
            if why:
                self.client.log_text(run_id, masked(why), "traceback.txt")


def _means(seeds: Sequence[Run]) -> list[Metric]:
    """Means, and std (ddof=1) of the accuracies."""
    table = pd.DataFrame([numbers(run) for run in seeds])
    std = table.filter(SPREAD).std().dropna().add_suffix("_std")
    found = {"n_seeds": len(seeds)} | dict(table.mean()) | dict(std)
    return [record.metric(name, value) for name, value in found.items()]


def _is_of_here(run: Run) -> bool:
    """Whether this user made the run on this machine, so that its lock can be looked at."""
    here = provenance.tags()
    return all(run.data.tags.get(name) == here[name] for name in ("host", "mlflow.user"))
