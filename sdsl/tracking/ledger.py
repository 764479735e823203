"""MLflow as the ledger: a run counts when it is FINISHED and its R and config are whole."""

import random
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from sdsl.config.naming import as_logged
from sdsl.interrupt import shielded
from sdsl.tracking import artifacts, groups, points, provenance
from sdsl.tracking.address import masked, store_uri
from sdsl.tracking.claims import Claims, settle
from sdsl.tracking.client import PatientClient, experiment_id
from sdsl.tracking.heartbeat import Heartbeat
from sdsl.tracking.process import Process
from sdsl.tracking.provenance import ALONE, JobTags
from sdsl.tracking.records import Entry, Group
from sdsl.tracking.run_summary import Results

K = TypeVar("K")


class Ledger:
    """One experiment in its store; both are made on first use."""

    def __init__(self, uri: str | None, experiment: str):
        self.uri = store_uri(uri)
        self.client = PatientClient(self.uri)
        self.experiment = experiment_id(self.client, experiment)
        self.claims = Claims(self.client, self.experiment)
        self.heartbeat = Heartbeat(self.client, [])

    def finished(self, group: str) -> dict[int, Entry]:
        """seed -> the latest finished run of this group whose files are as they were written."""
        entries: dict[int, Entry] = {}
        for run in groups.finished_runs(self.client, self.experiment, group):
            entry = groups.entry(run)
            if entry.seed in entries:
                continue
            if self.is_whole(run):
                entries[entry.seed] = entry
            else:
                self.claims.broken.add(run.info.run_id)
        return entries

    def holders(self, group: str, keys: Mapping[int, str], job: JobTags) -> dict[int, Process]:
        """seed -> the living process that makes its run at this moment."""
        held = self.claims.holders(group, keys.values(), job)
        return {seed: held[key] for seed, key in keys.items() if key in held}

    def is_whole(self, run: Run) -> bool:
        """Whether R and the config are there and have the SHA-256 that the run's tags say."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                files = artifacts.fetch(self.client, run, folder)
                return artifacts.digests(files.values()) == artifacts.promised(run.data.tags)
            except Exception:  # a file is missing or cannot be read: the run is done again
                return False

    @contextmanager
    def recording(
        self, group: Group, keys: Mapping[int, str], job: JobTags = ALONE, share: bool = True
    ) -> Iterator[dict[int, str]]:
        """RUNNING runs for {seed: run_key}; what is not FINISHED on the way out says why.

        Left out are seeds that another process makes or has made meanwhile; share=False makes all.
        """
        with shielded():
            parent = self._parent(group, job)
        shared = {"kind": "run", MLFLOW_PARENT_RUN_ID: parent, "fused_seeds": len(keys)}
        runs: dict[int, str] = {}
        try:
            for seed, key in keys.items():
                tags = {**shared, "seed": seed, "run_key": key}
                with shielded():
                    runs[seed] = self._create_run(f"{group.name} · seed {seed}", group, job, tags)
            if share:
                self._settle(runs, group.group_key, keys, job)
            with Heartbeat(self.client, runs.values()) as self.heartbeat:
                yield runs
        except Exception:
            self._give_up(runs.values(), "FAILED", traceback.format_exc())
            raise
        except BaseException:  # Ctrl-C, SIGTERM: no time for patience
            self.client.patience = 1.0
            self._give_up(runs.values(), "KILLED")
            raise
        if runs:
            groups.update_now(self.client, self.experiment, group.group_key)

    def _settle(
        self, runs: dict[int, str], group: str, keys: Mapping[int, str], job: JobTags
    ) -> None:
        """Takes those seeds out of my runs that are not mine to make."""

        def look() -> dict[int, list[Run]]:
            found = self.claims.standing(group, set(keys.values()), job, runs.values())
            return {seed: found.get(key, []) for seed, key in keys.items()}

        settle(runs, look, partial(self._withdraw, runs))

    def _withdraw(self, runs: dict[K, str], key: K) -> None:
        with shielded():
            self.client.delete_run(runs.pop(key))

    def _create_run(self, name: str, group: Group, job: JobTags, more: Mapping[str, Any]) -> str:
        tags = {**group.tags(), **provenance.tags(), **job.tags(), **more}
        text = {key: str(value) for key, value in tags.items()}
        run_id = self.client.create_run(self.experiment, run_name=name, tags=text).info.run_id
        self.client.log_inputs(run_id, datasets=[groups.dataset(group.tags())])
        return run_id

    def _parent(self, group: Group, job: JobTags) -> str:
        """The parent of all seeds of a group; of several made at once one stays."""
        while not (known := groups.oldest(self.client, self.experiment, group.group_key)):
            if self._parents("", group, job)["parent"]:  # who waits must not stand in its way
                time.sleep(random.uniform(0.05, 0.3))
                continue
            mine = self._create_run(group.name, group, job, {"kind": "group"})
            runs = {"parent": mine}
            settle(runs, partial(self._parents, mine, group, job), partial(self._withdraw, runs))
            if runs:
                self.client.set_terminated(mine, "FINISHED")
                return mine
        return known

    def _parents(self, mine: str, group: Group, job: JobTags) -> dict[str, list[Run]]:
        found = groups.parents_of(self.client, self.experiment, group.group_key)
        return {"parent": [run for run in found if self.claims.stands(run, job, [mine])]}

    def complete(self, group: str) -> str:
        """Once the seeds of a group are done: its params and mean curves, on its parent."""
        return groups.complete(self.client, self.experiment, group)

    def _give_up(self, run_ids: Iterable[str], status: str, why: str = "") -> None:
        for run_id in run_ids:
            with suppress(Exception):  # the store is gone too: a later command adopts the run
                if self.client.get_run(run_id).info.status == "RUNNING":
                    self.client.set_terminated(run_id, status)
                    if why:
                        self.client.log_text(run_id, masked(why), "traceback.txt")

    def log(self, run_id: str, config: Mapping[str, Any], results: Results, folder: Path) -> bool:
        """Everything about a run at once; FINISHED comes last, when R is there.

        False if another host has taken this run over, because no sign of life reached the store.
        """
        if self.heartbeat.lapsed() and self.client.get_run(run_id).info.status != "RUNNING":
            return False
        numbers = [points.at_start(name, value) for name, value in results.metrics.items()]
        for name, curve in results.curves.items():
            numbers += points.points(name, curve.values, curve.first_step, curve.most)
        self.write(run_id, numbers, config, folder)
        return True

    def write(
        self, run_id: str, numbers: list[Metric], config: Mapping[str, Any], folder: Path
    ) -> None:
        """Numbers, params, files and their SHA-256; then FINISHED."""
        points.log(self.client, run_id, numbers, params(config))
        self.client.log_artifacts(run_id, str(folder))
        written = artifacts.digests(artifacts.written(folder))
        self.client.log_batch(run_id, tags=[RunTag(*pair) for pair in written.items()])
        self.client.set_terminated(run_id, "FINISHED")

    def end(self, status: str, sweep: str, job: int | None = None, why: str = "") -> None:
        """Ends what still says RUNNING of a sweep, or of one of its jobs: its process is gone."""
        also = f" and tags.sweep = '{sweep}'" + ("" if job is None else f" and tags.job = '{job}'")
        with suppress(Exception):  # what is left here, a later command adopts
            self._give_up([run.info.run_id for run in self._running(also)], status, why)

    def adopt_stale(self, but: str | None = None) -> list[str]:
        """RUNNING runs whose process has ended become KILLED, but those of one sweep; their names.

        Runs of another kind, or that somebody else made in this experiment, are left alone.
        """
        ours = [run for run in self._running() if run.data.tags.get("kind") in ("run", "group")]
        return self.claims.adopt(run for run in ours if run.data.tags.get("sweep") != but)

    def _running(self, also: str = "") -> list[Run]:
        where = f"attributes.status = 'RUNNING'{also}"
        return self.client.search_runs([self.experiment], where, max_results=groups.MOST)


def params(config: Mapping[str, Any]) -> list[Param]:
    """Every setting of a config as a param, without the data's sources."""
    logged = as_logged(config).items()
    return [Param(name, value) for name, value in logged if name != "dataset.sources"]
