"""All finished runs of a store as one table; R, curves and config of each.

runs = results(filter="tags.dataset = 'spam'")
runs.groupby("variant").acc_online.agg(["mean", "std", "count"])
R = load_R(runs.iloc[0])  # [T, T]
"""

import functools
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from omegaconf import OmegaConf

from sdsl.errors import UserError
from sdsl.tracking.address import masked, shown, store_uri
from sdsl.tracking.store import START, PatientClient, Store, local_path

NUMBERS = ["seed", "rows", "features", "classes"]
TAGS = [
    *("run_key", "group_key", "method", "variant", "dataset", "stream", "setting", *NUMBERS),
    *("standing", "source", "data_sha256", "stream_sha256", "code_sha256", "git_sha", "dirty"),
]


def results(
    uri: str | None = None,
    experiment: str = "sdsl",
    filter: str = "",
    settings: Sequence[str] | None = None,
) -> pd.DataFrame:
    """One row per finished run, index run_id; the newest of runs with the same run_key.

    filter: of MLflow, such as "tags.method = 'ours' and metrics.acc_final > 0.9". Columns: names,
    data and code of the run, its metrics, and settings by their dotted names: those given, or all
    in which the runs differ.
    """
    store = Store(uri, experiment, create=False)
    where = "tags.kind = 'run' and attributes.status = 'FINISHED'"
    try:
        runs = search(store, f"{where} and {filter}" if filter else where)
    except MlflowException as error:
        raise UserError(f"filter={filter!r}: {error}") from None
    if not runs:
        those = f"no finished runs that match '{filter}'" if filter else "no finished runs"
        raise UserError(f"Experiment '{experiment}' of {shown(store.uri)} has {those}. {START}")
    params = pd.DataFrame([run.data.params for run in runs])
    rows = pd.DataFrame([_row(run) for run in runs]).astype(dict.fromkeys(NUMBERS, int))
    if settings is None:
        settings = params.columns[params.nunique(dropna=False) > 1].difference(rows.columns)
    table = pd.concat([rows, params.reindex(columns=settings)], axis=1)
    table = table.drop_duplicates("run_key", keep="last")
    return table.set_index("run_id").sort_values(["stream", "setting", "variant", "seed"])


def load_R(run: Any, uri: str | None = None) -> np.ndarray:
    """R [T, T] of a run: a row of `results` (fast), or a run id."""
    return np.load(io.BytesIO(load(run, "R.npy", uri)), allow_pickle=False)


def load_curves(run: Any, uri: str | None = None) -> pd.DataFrame:
    """One column per curve, index step."""
    return pd.read_csv(io.BytesIO(load(run, "curves.csv", uri)), index_col="step")


def load_config(run: Any, uri: str | None = None) -> dict[str, Any]:
    """The config as it ran."""
    made = OmegaConf.create(load(run, "config.yaml", uri).decode())
    return {str(key): value for key, value in OmegaConf.to_container(made).items()}  # type: ignore


def load(run: Any, name: str, uri: str | None = None) -> bytes:
    """Any file of a run, by its name under Artifacts."""
    try:
        place = get_run(run, uri).info if isinstance(run, str) else run
        if folder := local_path(place.artifact_uri):
            return (folder / name).read_bytes()
        with tempfile.TemporaryDirectory() as made:
            file = f"{place.artifact_uri}/{name}"
            found = download_artifacts(file, dst_path=made, tracking_uri=store_uri(uri))
            return Path(found).read_bytes()
    except (OSError, MlflowException) as error:
        raise UserError(f"The file {name} of run {run} cannot be read: {masked(error)}") from None


def get_run(run_id: str, uri: str | None = None) -> Run:
    """A run by its id."""
    try:
        return _client(store_uri(uri)).get_run(run_id)
    except MlflowException as error:
        raise UserError(f"Run {run_id}: {masked(error)}") from None


def holds(client: MlflowClient, run: Run, name: str) -> bool:
    """Whether a run has a file of that name."""
    if folder := local_path(run.info.artifact_uri):
        return (folder / name).is_file()
    return any(item.path == name for item in client.list_artifacts(run.info.run_id))


def search(store: Store, where: str) -> list[Run]:
    """The runs of the experiment that a filter finds, the oldest first."""
    found: list[Run] = []
    place, order, token = [store.experiment_id], ["attributes.start_time ASC"], None
    while True:
        page = store.client.search_runs(place, where, 1, 1000, order, token)
        found += page
        if not (token := page.token):
            return found


def numbers(run: Run) -> dict[str, float]:
    """The metrics of a run; of a curve, MLflow lists the last point among them."""
    return {name: value for name, value in run.data.metrics.items() if "/" not in name}


def _row(run: Run) -> dict[str, Any]:
    tags, info = run.data.tags, run.info
    return {
        "run_id": info.run_id,
        **{name: tags.get(name, "") for name in TAGS},
        "started": info.start_time,
        "artifact_uri": info.artifact_uri,
        **numbers(run),
    }


_client = functools.cache(PatientClient)
