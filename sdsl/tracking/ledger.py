"""MLflow as the ledger: a run counts when its MLflow run is FINISHED and holds its R."""

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mlflow.entities import Metric, Param, Run
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from sdsl.interrupt import shielded
from sdsl.tracking import provenance
from sdsl.tracking.client import connect, store_uri

BATCH = 1000  # MLflow's limits on one call: this many values, of them PARAMS params
PARAMS = 100
AVERAGED = ("acc_online", "acc_final", "forgetting", "forgetting_max", "bwt", "fwt", "prequential")


@dataclass(frozen=True)
class Entry:
    """A finished run, as far as a table needs it."""

    seed: int
    run_id: str
    metrics: dict[str, float]


class Ledger:
    """The experiment of a config in its store; made on first use."""

    def __init__(self, uri: str | None, experiment: str):
        self.uri = store_uri(uri)
        self.client, self.experiment = connect(self.uri, experiment)

    def finished(self, group: str) -> dict[int, Entry]:
        """seed -> the latest finished run of this group that still holds its R."""
        found: dict[int, Entry] = {}
        for entry in self._entries(group):
            files = self.client.list_artifacts(entry.run_id) if entry.seed not in found else []
            if any(file.path == "R.npy" for file in files):
                found[entry.seed] = entry
        return found

    def _entries(self, group: str) -> Iterator[Entry]:
        """Finished runs of a group, the latest first."""
        for run in self._search(group, "run", " and attributes.status = 'FINISHED'"):
            yield Entry(int(run.data.tags["seed"]), run.info.run_id, dict(run.data.metrics))

    def _search(self, group: str, kind: str, also: str = "") -> list[Run]:
        return self.client.search_runs(
            [self.experiment],
            f"tags.group_key = '{group}' and tags.kind = '{kind}'{also}",
            max_results=50_000,
            order_by=["attributes.start_time DESC"],
        )

    @contextmanager
    def recording(
        self, name: str, tags: Mapping[str, Any], seeds: Mapping[int, str]
    ) -> Iterator[dict[int, str]]:
        """RUNNING runs for {seed: run_key}; what is not FINISHED on the way out says why."""
        parent = self._group_run(name, tags)
        shared = {**tags, "kind": "run", MLFLOW_PARENT_RUN_ID: parent, "fused_seeds": len(seeds)}
        runs: dict[int, str] = {}
        try:
            for seed, key in seeds.items():
                own = {**shared, "seed": seed, "run_key": key}
                with shielded():
                    runs[seed] = self._create_run(f"{name} · seed {seed}", own)
            yield runs
        except Exception:
            self._give_up(runs.values(), "FAILED", traceback.format_exc())
            raise
        except BaseException:  # Ctrl-C, SIGTERM: no time for patience
            self.client.patience = 1.0
            self._give_up(runs.values(), "KILLED")
            raise
        self._update(parent, tags["group_key"])

    def _create_run(self, name: str, tags: Mapping[str, Any]) -> str:
        told = {**tags, **provenance.tags(), **provenance.job}
        words = {key: str(value) for key, value in told.items()}
        return self.client.create_run(self.experiment, run_name=name, tags=words).info.run_id

    def _give_up(self, run_ids, status: str, why: str = "") -> None:
        for run_id in run_ids:
            with suppress(Exception):  # the store is gone too: a later sweep adopts the run
                if self.client.get_run(run_id).info.status == "RUNNING":
                    self.client.set_terminated(run_id, status)
                    if why:
                        self.client.log_text(run_id, why, "traceback.txt")

    def log(
        self,
        run_id: str,
        params: Mapping[str, Any],
        metrics: Mapping[str, float],
        curves: Mapping[str, tuple[int, np.ndarray]],  # name -> (step of the first point, points)
        folder: Path,
    ) -> None:
        """Everything about a run at once; FINISHED comes last, when R is there."""
        now = int(time.time() * 1000)
        points = [Metric(name, float(value), now, 0) for name, value in metrics.items()]
        for name, (first, values) in curves.items():
            steps = enumerate(np.asarray(values, float), first)
            points += [Metric(name, float(v), now, t) for t, v in steps if np.isfinite(v)]
        self._log_batches(run_id, points, [Param(k, v) for k, v in flatten(params).items()])
        self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id, "FINISHED")

    def _log_batches(self, run_id: str, points: Sequence[Metric], params: Sequence[Param]) -> None:
        """One call where it fits."""
        room = BATCH - min(len(params), PARAMS)
        self.client.log_batch(run_id, metrics=points[:room], params=params[:PARAMS])
        for at in range(room, len(points), BATCH):
            self.client.log_batch(run_id, metrics=points[at : at + BATCH])
        for at in range(PARAMS, len(params), PARAMS):
            self.client.log_batch(run_id, params=params[at : at + PARAMS])

    def _group_run(self, name: str, tags: Mapping[str, Any]) -> str:
        """The parent of all seeds of a group; of two made at once the older one stays."""
        group = tags["group_key"]
        if known := self._search(group, "group"):
            return _oldest(known)
        mine = self._create_run(name, {**tags, "kind": "group"})
        self.client.set_terminated(mine, "FINISHED")
        if (oldest := _oldest(self._search(group, "group"))) != mine:
            self.client.delete_run(mine)
        return oldest

    def _update(self, parent: str, group: str) -> None:
        """Mean and std (ddof=1) of a group's finished seeds, on its parent run."""
        # The clock is read first: of two jobs that end at once, who saw more seeds is the later.
        latest, now = {}, int(time.time() * 1000)
        for entry in self._entries(group):
            latest.setdefault(entry.seed, entry)
        values = {"n_seeds": float(len(latest))}
        for name in AVERAGED:
            column = [e.metrics[name] for e in latest.values() if name in e.metrics]
            if column:
                values[name] = float(np.mean(column))
            if len(column) > 1:
                values[f"{name}_std"] = float(np.std(column, ddof=1))
        # At step 0, so that `mlflow ui` draws bars and not curves of one point.
        self.client.log_batch(parent, metrics=[Metric(k, v, now, 0) for k, v in values.items()])

    def end(self, status: str, why: str = "", **tags: str) -> None:
        """What still says RUNNING of a job, or of a whole sweep, whose processes are gone."""
        also = "".join(f" and tags.{name} = '{value}'" for name, value in tags.items())
        with suppress(Exception):  # what is left here, a later sweep adopts
            runs = self._running(also)
            self._give_up([run.info.run_id for run in runs], status, why)

    def adopt_stale(self) -> None:
        """RUNNING runs whose process, or whose sweep's, was on this host and is gone: KILLED."""
        for run in self._running():
            tags = run.data.tags
            own = f"{tags['host']} {tags['pid']} {tags['process_start']}"
            if provenance.gone(own) or provenance.gone(tags.get("sweep", "none")):
                self.client.set_terminated(run.info.run_id, "KILLED")

    def _running(self, also: str = "") -> list[Run]:
        return self.client.search_runs([self.experiment], f"attributes.status = 'RUNNING'{also}")


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """{'learner': {'hidden': [100]}} -> {'learner.hidden': '[100]'}, without the data's sources."""
    flat: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        elif f"{prefix}{key}" != "dataset.sources":
            flat[f"{prefix}{key}"] = str(value)[:6000]  # MLflow's limit
    return flat


def _oldest(runs: Sequence[Run]) -> str:
    return min(runs, key=lambda run: (run.info.start_time, run.info.run_id)).info.run_id
