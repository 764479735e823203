"""MLflow as the ledger: a run counts when it is FINISHED and its R and config are whole."""

import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from sdsl.config.naming import as_logged
from sdsl.interrupt import shielded
from sdsl.tracking import artifacts, groups, provenance
from sdsl.tracking.address import masked, store_uri
from sdsl.tracking.client import PatientClient, experiment_id
from sdsl.tracking.process import Process
from sdsl.tracking.provenance import ALONE, JobTags
from sdsl.tracking.records import Entry, Group
from sdsl.tracking.run_summary import Results

BATCH = 1000  # MLflow's limits on one call: this many values, of them PARAMS params
PARAMS = 100


class Ledger:
    """One experiment in its store; both are made on first use."""

    def __init__(self, uri: str | None, experiment: str):
        self.uri = store_uri(uri)
        self.client = PatientClient(self.uri)
        self.experiment = experiment_id(self.client, experiment)

    def finished(self, group: str) -> dict[int, Entry]:
        """seed -> the latest finished run of this group whose files are as they were written."""
        entries: dict[int, Entry] = {}
        for run in groups.finished_runs(self.client, self.experiment, group):
            entry = groups.entry(run)
            if entry.seed not in entries and self._is_whole(run):
                entries[entry.seed] = entry
        return entries

    def _is_whole(self, run: Run) -> bool:
        """Whether R and the config are there and have the SHA-256 that the run's tags say."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                files = artifacts.fetch(self.client, run, folder)
                return artifacts.digests(files.values()) == artifacts.promised(run.data.tags)
            except Exception:  # a file is missing or cannot be read: the run is done again
                return False

    @contextmanager
    def recording(
        self, group: Group, keys: Mapping[int, str], job: JobTags = ALONE
    ) -> Iterator[dict[int, str]]:
        """RUNNING runs for {seed: run_key}; what is not FINISHED on the way out says why."""
        parent = self._parent(group, job)
        shared = {"kind": "run", MLFLOW_PARENT_RUN_ID: parent, "fused_seeds": len(keys)}
        runs: dict[int, str] = {}
        try:
            for seed, key in keys.items():
                tags = {**shared, "seed": seed, "run_key": key}
                with shielded():
                    runs[seed] = self._create_run(f"{group.name} · seed {seed}", group, job, tags)
            yield runs
        except Exception:
            self._give_up(runs.values(), "FAILED", traceback.format_exc())
            raise
        except BaseException:  # Ctrl-C, SIGTERM: no time for patience
            self.client.patience = 1.0
            self._give_up(runs.values(), "KILLED")
            raise
        groups.update(self.client, self.experiment, parent, group.group_key)

    def _create_run(self, name: str, group: Group, job: JobTags, more: Mapping[str, Any]) -> str:
        tags = {**group.tags(), **provenance.tags(), **job.tags(), **more}
        text = {key: str(value) for key, value in tags.items()}
        return self.client.create_run(self.experiment, run_name=name, tags=text).info.run_id

    def _parent(self, group: Group, job: JobTags) -> str:
        """The parent of all seeds of a group; of two made at once the older one stays."""
        if known := groups.oldest(self.client, self.experiment, group.group_key):
            return known
        mine = self._create_run(group.name, group, job, {"kind": "group"})
        self.client.set_terminated(mine, "FINISHED")
        oldest = groups.oldest(self.client, self.experiment, group.group_key) or mine
        if oldest != mine:
            self.client.delete_run(mine)
        return oldest

    def _give_up(self, run_ids: Iterable[str], status: str, why: str = "") -> None:
        for run_id in run_ids:
            with suppress(Exception):  # the store is gone too: a later command adopts the run
                if self.client.get_run(run_id).info.status == "RUNNING":
                    self.client.set_terminated(run_id, status)
                    if why:
                        self.client.log_text(run_id, masked(why), "traceback.txt")

    def log(self, run_id: str, config: Mapping[str, Any], results: Results, folder: Path) -> None:
        """Everything about a run at once; FINISHED comes last, when R is there."""
        now = int(time.time() * 1000)
        points = [Metric(name, float(value), now, 0) for name, value in results.metrics.items()]
        for name, curve in results.curves.items():
            steps = enumerate(np.asarray(curve.values, float), curve.first_step)
            points += [Metric(name, float(v), now, t) for t, v in steps if np.isfinite(v)]
        self._log_batches(run_id, points, params(config))
        self.client.log_artifacts(run_id, str(folder))
        written = artifacts.digests(artifacts.written(folder))
        self.client.log_batch(run_id, tags=[RunTag(*pair) for pair in written.items()])
        self.client.set_terminated(run_id, "FINISHED")

    def _log_batches(self, run_id: str, points: list[Metric], params: list[Param]) -> None:
        """One call where it fits."""
        room = BATCH - min(len(params), PARAMS)
        self.client.log_batch(run_id, metrics=points[:room], params=params[:PARAMS])
        for at in range(room, len(points), BATCH):
            self.client.log_batch(run_id, metrics=points[at : at + BATCH])
        for at in range(PARAMS, len(params), PARAMS):
            self.client.log_batch(run_id, params=params[at : at + PARAMS])

    def end(self, status: str, sweep: str, job: int | None = None, why: str = "") -> None:
        """Ends what still says RUNNING of a sweep, or of one of its jobs: its process is gone."""
        also = f" and tags.sweep = '{sweep}'" + ("" if job is None else f" and tags.job = '{job}'")
        with suppress(Exception):  # what is left here, a later command adopts
            self._give_up([run.info.run_id for run in self._running(also)], status, why)

    def adopt_stale(self) -> None:
        """RUNNING runs whose process, or whose sweep's, was on this host and is gone: KILLED.

        Runs of another kind, or that somebody else made in this experiment, are left alone.
        """
        for run in self._running(" and tags.kind = 'run'"):
            tags = run.data.tags
            own = " ".join(tags.get(name, "") for name in ("host", "pid", "process_start"))
            makers = map(Process.parse, (own, tags.get("sweep", "")))
            if any(maker.gone() for maker in makers if maker):
                self.client.set_terminated(run.info.run_id, "KILLED")

    def _running(self, also: str = "") -> list[Run]:
        where = f"attributes.status = 'RUNNING'{also}"
        return self.client.search_runs([self.experiment], where, max_results=groups.MOST)


def params(config: Mapping[str, Any]) -> list[Param]:
    """Every setting of a config as a param, without the data's sources."""
    logged = as_logged(config).items()
    return [Param(name, value) for name, value in logged if name != "dataset.sources"]
