"""The seeds of one config on one stream, as MLflow shows them: runs below one parent run.

A parent holds the means of its seeds: numbers at step 0, which are updated as seeds finish, and
curves, which are written once. MLflow cannot replace a point: when seeds are added later, a new
parent takes the place of the old one.
"""

import csv
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_PARENT_RUN_ID

from sdsl.tracking import points
from sdsl.tracking.client import PatientClient
from sdsl.tracking.records import Entry

MOST = 50_000  # runs in one answer: MLflow's limit
GOOD = "attributes.status != 'KILLED' and attributes.status != 'FAILED'"
AVERAGED = (
    *("acc_online", "acc_final", "forgetting", "forgetting_max", "bwt", "fwt", "prequential"),
    *("acc_online_context", "acc_final_context"),
)
CURVES = ("online", "past_mean", "final", "pseudo_label_acc")
TRIES = 5  # to write to a parent that others may replace
CURVES_OF = "curves_of"  # the tag of a parent that says how many seeds its curves are the mean of


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
    seeds = _seeds(client, experiment, group)
    values = {"n_seeds": float(len(seeds))}
    for name in AVERAGED:
        column = [run.data.metrics[name] for run in seeds if name in run.data.metrics]
        if column:
            values[name] = float(np.mean(column))
        if len(column) > 1:
            values[f"{name}_std"] = float(np.std(column, ddof=1))
    # At step 0, so that `mlflow ui` draws bars and not curves of one point.
    client.log_batch(parent, metrics=[Metric(k, v, now, 0) for k, v in values.items()])


def update_now(client: PatientClient, experiment: str, group: str) -> None:
    """The same on whichever run is the parent now: another process may replace it meanwhile."""
    for _ in range(TRIES):
        with suppress(MlflowException):  # deleted a moment ago: there is a new one
            if parent := oldest(client, experiment, group):
                update(client, experiment, parent, group)
                return


def complete(client: PatientClient, experiment: str, group: str) -> str:
    """Params, mean curves, start and end of a group's finished seeds; the parent that has them.

    While other processes work on the group, this is left to the last of them.
    """
    if _search(client, experiment, group, "run", " and attributes.status = 'RUNNING'"):
        return oldest(client, experiment, group) or ""
    with suppress(MlflowException):  # another process was faster
        return _complete(client, experiment, group)
    return oldest(client, experiment, group) or ""


def _complete(client: PatientClient, experiment: str, group: str) -> str:
    seeds, parent = _seeds(client, experiment, group), oldest(client, experiment, group)
    if not seeds or parent is None:
        return ""
    known = client.get_run(parent)
    said = known.data.tags.get(CURVES_OF)
    if said == str(len(seeds)):
        return parent
    if said is not None:
        parent = _replaced(client, experiment, known, seeds)
        update(client, experiment, parent, group)
    shared = {k: v for k, v in seeds[0].data.params.items() if k != "seed.values"}
    points.log(client, parent, _mean_curves(client, seeds), [Param(*p) for p in shared.items()])
    client.set_tag(parent, CURVES_OF, len(seeds))
    client.set_terminated(parent, "FINISHED", max(run.info.end_time for run in seeds))
    return parent


def dataset(tags: Mapping[str, str]) -> DatasetInput:
    """The rows of a run as MLflow knows data sets, for its column and filter `dataset.name`."""
    size = {"num_rows": int(tags["data_rows"]), "num_features": int(tags["data_features"])}
    rows = Dataset(
        name=tags["dataset"],
        digest=tags["data_sha256"][:12],
        source_type="sdsl",
        source=json.dumps({"source": tags["data_source"], "standing": tags["data_standing"]}),
        profile=json.dumps(size),
    )
    return DatasetInput(rows, [InputTag(MLFLOW_DATASET_CONTEXT, tags["data_standing"])])


def _seeds(client: PatientClient, experiment: str, group: str) -> list[Run]:
    """The latest finished run of each seed."""
    latest: dict[str, Run] = {}
    for run in finished_runs(client, experiment, group):
        latest.setdefault(run.data.tags["seed"], run)
    return list(latest.values())


def _replaced(client: PatientClient, experiment: str, old: Run, seeds: Sequence[Run]) -> str:
    """A new parent in the place of one whose curves lack seeds."""
    new = client.create_run(
        experiment,
        start_time=min(run.info.start_time for run in seeds),
        run_name=old.info.run_name,
        tags={key: value for key, value in old.data.tags.items() if key != CURVES_OF},
    ).info.run_id
    client.log_inputs(new, datasets=[dataset(old.data.tags)])
    for run in _search(client, experiment, old.data.tags["group_key"], "run"):
        client.set_tag(run.info.run_id, MLFLOW_PARENT_RUN_ID, new)
    client.delete_run(old.info.run_id)
    return new


def _mean_curves(client: PatientClient, seeds: Sequence[Run]) -> list[Metric]:
    """Mean and std (ddof=1) over the seeds, step by step."""
    read = [_curves(client, run.info.run_id) for run in seeds]
    found: list[Metric] = []
    for name in CURVES:
        curves = [one[name] for one in read if name in one]
        if curves and len({len(curve) for curve in curves}) == 1:
            found += points.points(name, np.mean(curves, 0))
            if len(curves) > 1:
                found += points.points(f"{name}_std", np.std(curves, 0, ddof=1))
    return found


def _curves(client: PatientClient, run_id: str) -> dict[str, np.ndarray]:
    """The columns of a run's curves.csv; none if it is lost."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(client.download_artifacts(run_id, "curves.csv", folder))
            rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    except (OSError, ValueError, MlflowException):
        return {}
    names = rows[0] if rows else ()
    return {name: np.array([float(row[name] or "nan") for row in rows]) for name in names}


def _search(
    client: PatientClient, experiment: str, group: str, kind: str, also: str = ""
) -> list[Run]:
    return client.search_runs(
        [experiment],
        f"{of(group)} and tags.kind = '{kind}'{also}",
        max_results=MOST,
        order_by=["attributes.start_time DESC"],
    )
