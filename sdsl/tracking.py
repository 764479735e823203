"""MLflow as the ledger: a run counts when its MLflow run is FINISHED and holds its R."""

import random
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, Run
from mlflow.exceptions import MlflowException, RestException
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from sdsl import provenance

BATCH = 1000  # MLflow's limit on metrics a call
AVERAGED = ("acc_online", "acc_final", "forgetting", "forgetting_max", "bwt", "fwt", "prequential")
PATIENCE = 60.0  # seconds to wait for a locked or restarting store


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
        self.client = _Patient(lambda: MlflowClient(self.uri))
        known = self.client.get_experiment_by_name(experiment)
        self.experiment = known.experiment_id if known else self._create(experiment)

    def _create(self, name: str) -> str:
        local = self.uri.startswith("sqlite:")
        where = Path("outputs", "mlruns").absolute().as_uri() if local else None
        try:
            return self.client.create_experiment(name, artifact_location=where)
        except MlflowException:  # another process was faster
            return self.client.get_experiment_by_name(name).experiment_id

    def finished(self, group: str) -> dict[int, Entry]:
        """seed -> the latest finished run of this group that still holds its R."""
        found = {}
        for run in self._search(group, "run", "attributes.status = 'FINISHED'"):
            seed = int(run.data.tags["seed"])
            if seed not in found and self._holds_R(run):
                found[seed] = Entry(seed, run.info.run_id, dict(run.data.metrics))
        return found

    def _search(self, group: str, kind: str, also: str = "") -> list[Run]:
        wanted = f"tags.group_key = '{group}' and tags.kind = '{kind}'"
        return self.client.search_runs(
            [self.experiment],
            f"{wanted} and {also}" if also else wanted,
            max_results=50_000,
            order_by=["attributes.start_time DESC"],
        )

    def _holds_R(self, run: Run) -> bool:
        return any(f.path == "R.npy" for f in self.client.list_artifacts(run.info.run_id))

    @contextmanager
    def recording(
        self, name: str, tags: Mapping[str, str], seeds: Mapping[int, str]
    ) -> Iterator[dict[int, str]]:
        """RUNNING runs for {seed: run_key}; what is not FINISHED on the way out says why."""
        parent = self._group_run(name, tags)
        shared = {**tags, "kind": "run", MLFLOW_PARENT_RUN_ID: parent, "fused_seeds": len(seeds)}
        runs: dict[int, str] = {}
        try:
            for seed, key in seeds.items():
                made = self.client.create_run(
                    self.experiment,
                    run_name=f"{name} · seed {seed}",
                    tags=_text({**shared, "seed": seed, "run_key": key, **provenance.tags()}),
                )
                runs[seed] = made.info.run_id
            yield runs
        except BaseException as error:
            status = "FAILED" if isinstance(error, Exception) else "KILLED"
            for run_id in runs.values():
                self._give_up(run_id, status)
            raise
        finally:
            self._update(parent, tags["group_key"])

    def _give_up(self, run_id: str, status: str) -> None:
        try:
            if self.client.get_run(run_id).info.status != "RUNNING":
                return
            if status == "FAILED":
                self.client.log_text(run_id, traceback.format_exc(), "traceback.txt")
            self.client.set_terminated(run_id, status)
        except Exception:  # the store is gone too: a later sweep adopts the run
            traceback.print_exc()

    def log(
        self,
        run_id: str,
        params: Mapping[str, Any],
        metrics: Mapping[str, float],
        curves: Mapping[str, tuple[int, np.ndarray]],  # name -> (step of the first point, points)
        folder: Path,
    ) -> None:
        """Everything about a run at once, R last but one, FINISHED last."""
        now = int(time.time() * 1000)
        points = [Metric(name, float(value), now, 0) for name, value in metrics.items()]
        for name, (first, values) in curves.items():
            steps = enumerate(np.asarray(values, float), first)
            points += [Metric(name, float(v), now, t) for t, v in steps if np.isfinite(v)]
        flat = [Param(key, value) for key, value in flatten(params).items()]
        self._batches(run_id, points, flat)
        self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id, "FINISHED")

    def _batches(self, run_id: str, points: Sequence[Metric], params: Sequence[Param]) -> None:
        room = BATCH - len(params)  # the limit is on both together, and on 100 params
        self.client.log_batch(run_id, metrics=points[:room], params=params[:100])
        for at in range(room, len(points), BATCH):
            self.client.log_batch(run_id, metrics=points[at : at + BATCH])
        for at in range(100, len(params), 100):
            self.client.log_batch(run_id, params=params[at : at + 100])

    def _group_run(self, name: str, tags: Mapping[str, str]) -> str:
        """The parent of all seeds of a group; of two made at once the older one stays."""
        if known := self._search(tags["group_key"], "group"):
            return known[-1].info.run_id
        shared = _text({**tags, "kind": "group"})
        mine = self.client.create_run(self.experiment, run_name=name, tags=shared).info.run_id
        self.client.set_terminated(mine, "FINISHED")
        all_made = self._search(tags["group_key"], "group")
        oldest = min(all_made, key=lambda run: (run.info.start_time, run.info.run_id)).info.run_id
        if oldest != mine:
            self.client.delete_run(mine)
        return oldest

    def _update(self, parent: str, group: str) -> None:
        entries = self.finished(group).values()
        if not entries:
            return
        n, now = len(entries), int(time.time() * 1000)
        values = {"n_seeds": float(n)}
        for name in AVERAGED:
            if len(column := [e.metrics[name] for e in entries if name in e.metrics]) == n:
                values[name] = float(np.mean(column))
                values |= {f"{name}_std": float(np.std(column, ddof=1))} if n > 1 else {}
        # The step is n: of two jobs that finish at once, the one that saw more seeds stands.
        self.client.log_batch(parent, metrics=[Metric(k, v, now, n) for k, v in values.items()])

    def adopt_stale(self) -> int:
        """Mark RUNNING runs of this host whose process is gone as KILLED; how many there were."""
        host = provenance.tags()["host"].replace("'", "")
        running = self.client.search_runs(
            [self.experiment], f"attributes.status = 'RUNNING' and tags.host = '{host}'"
        )
        stale = [run for run in running if not provenance.alive(*_process(run))]
        for run in stale:
            self.client.set_terminated(run.info.run_id, "KILLED")
        return len(stale)


def store_uri(uri: str | None) -> str:
    """The configured store, or mlflow.db here; SQLite waits for its lock instead of giving up."""
    uri = uri or f"sqlite:///{Path('mlflow.db').absolute()}"
    waits = uri.startswith("sqlite:") and "timeout=" not in uri
    return f"{uri}{'&' if '?' in uri else '?'}timeout={PATIENCE:.0f}" if waits else uri


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """{'learner': {'hidden': [100]}} -> {'learner.hidden': '[100]'}, without the data's sources."""
    flat = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        elif f"{prefix}{key}" != "dataset.sources":
            flat[f"{prefix}{key}"] = str(value)[:6000]
    return flat


class _Patient:
    """An MLflow client whose calls wait, with backoff, for a store that is locked or restarting."""

    def __init__(self, make: Callable[[], MlflowClient]):
        self._client = _patiently(make)

    def __getattr__(self, name: str) -> Callable:
        method = getattr(self._client, name)
        return lambda *args, **kwargs: _patiently(lambda: method(*args, **kwargs))


def _patiently(call: Callable[[], Any]) -> Any:
    end, pause = time.monotonic() + PATIENCE, 0.05
    while True:
        try:
            return call()
        except Exception as error:
            if not _passing(error) or time.monotonic() + pause > end:
                raise
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(2 * pause, 5.0)


def _passing(error: Exception) -> bool:
    """Whether waiting may help: a lock, a server that is down or answers 5xx."""
    text = str(error).lower()
    if "locked" in text or "max retries exceeded" in text or isinstance(error, ConnectionError):
        return True
    return isinstance(error, RestException) and error.get_http_status_code() >= 500


def _process(run: Run) -> tuple[int, str]:
    return int(run.data.tags.get("pid", -1)), run.data.tags.get("process_start", "")


def _text(tags: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in tags.items()}
