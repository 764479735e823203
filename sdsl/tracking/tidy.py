"""Finished runs as one tidy table, for notebooks: params that vary, metrics, R and curves."""

import csv
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from sdsl.errors import UserError
from sdsl.tracking.address import sqlite_file, store_uri
from sdsl.tracking.client import PatientClient
from sdsl.tracking.groups import MOST

TAGS = ("method", "dataset", "seed", "data_standing")


def results(uri: str | None = None, experiment: str = "sdsl") -> pd.DataFrame:
    """One row per finished run, index run_id.

    Columns: method, dataset, seed; every param in which the runs differ, by its dotted name; every
    metric by its name; `R` [T, T]; and every curve as `curve.NAME`, an array with a value per step.
    """
    address = store_uri(uri)
    file = sqlite_file(address)
    if file is not None and not file.exists():  # MLflow would make an empty one
        raise UserError(f"There is no store {file}. Start with: python -m sdsl.run")
    client = PatientClient(address)
    known = client.get_experiment_by_name(experiment)
    where = "tags.kind = 'run' and attributes.status = 'FINISHED'"
    found = client.search_runs([known.experiment_id], where, max_results=MOST) if known else []
    if not found:
        raise UserError(f"There is no finished run in the experiment '{experiment}'.")
    params = pd.DataFrame([run.data.params for run in found])
    varying = params.loc[:, params.nunique(dropna=False) > 1]
    rows = []
    for run, own in zip(found, varying.to_dict("records"), strict=True):
        tags = {name: run.data.tags.get(name) for name in TAGS}
        files = _files(client, run.info.run_id)
        curves = {name.removeprefix("curve.") for name in files}
        # The last point of a curve is a metric as well; it says nothing about the whole run.
        metrics = {k: v for k, v in run.data.metrics.items() if k not in curves}
        rows.append({"run_id": run.info.run_id, **own, **tags, **metrics, **files})
    table = pd.DataFrame(rows).set_index("run_id")
    table["seed"] = table["seed"].astype(int)
    return table.sort_values(["dataset", "method", "seed"])


def _files(client: PatientClient, run_id: str) -> dict[str, np.ndarray]:
    """R and the curves of a run."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            R = np.load(client.download_artifacts(run_id, "R.npy", folder), allow_pickle=False)
            text = Path(client.download_artifacts(run_id, "curves.csv", folder)).read_text()
        except (OSError, ValueError) as error:
            raise UserError(f"Run {run_id}: its files cannot be read ({error}).") from None
    steps = list(csv.DictReader(text.splitlines()))
    names = [name for name in (steps[0] if steps else []) if name != "step"]
    curves = {n: np.array([float(step[n] or "nan") for step in steps]) for n in names}
    return {"R": R} | {f"curve.{name}": values for name, values in curves.items()}
