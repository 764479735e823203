"""The seeds of one config on one stream, as MLflow shows them: runs below one parent run."""

import time

import numpy as np
from mlflow.entities import Metric, Run

from sdsl.tracking.client import PatientClient
from sdsl.tracking.records import Entry

MOST = 50_000  # runs in one answer: MLflow's limit
GOOD = "attributes.status != 'KILLED' and attributes.status != 'FAILED'"
AVERAGED = (
    *("acc_online", "acc_final", "forgetting", "forgetting_max", "bwt", "fwt", "prequential"),
    *("acc_online_context", "acc_final_context"),
)


def finished_runs(client: PatientClient, experiment: str, group: str) -> list[Run]:
    """The finished runs of a group, the latest first."""
    return _search(client, experiment, group, "run", " and attributes.status = 'FINISHED'")


def entry(run: Run) -> Entry:
    return Entry(int(run.data.tags["seed"]), run.info.run_id, dict(run.data.metrics))


def oldest(client: PatientClient, experiment: str, group: str) -> str | None:
    """The parent of a group: the first that was made."""
    parents = [run.info for run in parents_of(client, experiment, group)]
    parents = [info for info in parents if info.status == "FINISHED"]
    return min(parents, key=lambda info: (info.start_time, info.run_id)).run_id if parents else None


def parents_of(client: PatientClient, experiment: str, group: str) -> list[Run]:
    """FINISHED ones, and those that a process is making, which are RUNNING."""
    return _search(client, experiment, group, "group", f" and {GOOD}")


def of(group: str) -> str:
    return f"tags.group_key = '{group}'"


def update(client: PatientClient, experiment: str, parent: str, group: str) -> None:
    """Mean and std (ddof=1) of a group's finished seeds, on its parent run."""
    # The clock is read first: of two jobs that end at once, who saw more seeds is the later.
    now = int(time.time() * 1000)
    latest: dict[int, Entry] = {}
    for found in map(entry, finished_runs(client, experiment, group)):
        latest.setdefault(found.seed, found)
    values = {"n_seeds": float(len(latest))}
    for name in AVERAGED:
        column = [e.metrics[name] for e in latest.values() if name in e.metrics]
        if column:
            values[name] = float(np.mean(column))
        if len(column) > 1:
            values[f"{name}_std"] = float(np.std(column, ddof=1))
    # At step 0, so that `mlflow ui` draws bars and not curves of one point.
    client.log_batch(parent, metrics=[Metric(k, v, now, 0) for k, v in values.items()])


def _search(
    client: PatientClient, experiment: str, group: str, kind: str, also: str = ""
) -> list[Run]:
    return client.search_runs(
        [experiment],
        f"{of(group)} and tags.kind = '{kind}'{also}",
        max_results=MOST,
        order_by=["attributes.start_time DESC"],
    )
