"""Finished runs as one tidy table: what varies, metrics, data and ids; R and curves on demand."""

import csv
import difflib
import io
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from sdsl.config import naming
from sdsl.core.thin import dense
from sdsl.errors import UserError
from sdsl.tracking.address import shown, sqlite_file, store_uri
from sdsl.tracking.client import PatientClient

START = "Start with: python -m sdsl.run +sweeps=smoke"
PAGE = 1000  # runs in one answer of the store
TAGS = (
    *("method", "dataset", "labeler", "replay"),
    *("data_standing", "data_source", "data_sha256", "stream_sha256"),
    *("group_key", "code_sha256", "git_sha", "dirty"),
)
SHAPE = ("data_rows", "data_features", "data_classes")  # older runs have no such tags
ORDER = ["stream", "variant", "seed"]


class Runs(pd.DataFrame):
    """One row per run, index run_id. A part of it, such as `runs[runs.seed == 0]`, is one too."""

    _metadata: ClassVar = ["client", "all_params"]
    client: PatientClient
    all_params: pd.DataFrame

    @property
    def _constructor(self) -> type["Runs"]:
        return Runs

    @property
    def params(self) -> pd.DataFrame:
        """Every setting of every run as it was logged, also those in which the runs agree."""
        return self.all_params.loc[self.index]

    def R(self, run: str) -> np.ndarray:
        """R of a run, [T, T]: accuracy on segment j's test part after step i."""
        return dense(np.load(io.BytesIO(self.file(run, "R.npy")), allow_pickle=False))

    def R_context(self, run: str) -> np.ndarray:
        """The same of a run with eval.context=true, each test part predicted as one batch."""
        return dense(np.load(io.BytesIO(self.file(run, "R_context.npy")), allow_pickle=False))

    def curves(self) -> pd.DataFrame:
        """One row per run and step, index (run_id, step); one column per curve."""
        return pd.concat(
            {run: pd.DataFrame(self.curves_of(run)) for run in self.index}
        ).rename_axis(["run_id", "step"])

    def curves_of(self, run: str) -> dict[str, pd.Series]:
        """name -> value by step, for all that a run recorded per step or per point of a probe."""
        rows = list(csv.reader(self.file(run, "curves.csv").decode().splitlines()))
        columns = {}
        for name, *cells in zip(*rows, strict=True):
            if name != "step":
                points = np.array([float(cell) if cell else np.nan for cell in cells])
                known = np.flatnonzero(np.isfinite(points))
                points = points[: known[-1] + 1 if len(known) else 0]  # a shorter curve ends there
                columns[name] = pd.Series(points, range(1, len(points) + 1), dtype=float)
        return columns

    def file(self, run: str, name: str) -> bytes:
        """A file of a run; the store lists them under Artifacts."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                return Path(self.client.download_artifacts(run, name, folder)).read_bytes()
            except (OSError, ValueError, MlflowException) as error:
                text = f"Run {run}: its file {name} cannot be read ({error})."
                raise UserError(text) from None


def results(uri: str | None = None, experiment: str = "sdsl", **filters: object) -> Runs:
    """The finished runs of a store: `results(method="ours", dataset=["spam", "satimage"])`.

    A filter names a column and a value or a list of values; for a setting with a dot in its name
    write `**{"replay.eta1": 0.1}`. Columns:

    - `variant`, `stream`, `seed`: what the run is called, as in every table; and every setting in
      which the runs differ, by its dotted name
    - every metric, such as `acc_online` and `acc_final`
    - the data: `data_standing`, `data_source`, `data_rows`, ...; and ids: hashes, commit, `started`
    """
    client, place = _open(uri)
    found = list(_finished(client, experiment, place))
    if not found:
        raise UserError(
            f"There is no finished run in experiment '{experiment}' of {place}. {START}"
        )
    ids = pd.Index([run.info.run_id for run in found], name="run_id")
    params = pd.DataFrame([run.data.params for run in found], ids)
    table = pd.DataFrame([row(run) for run in found], ids)
    differ = params.loc[:, params.nunique(dropna=False) > 1].drop(columns="seed", errors="ignore")
    table = _filtered(
        pd.concat([table, differ.drop(columns=table.columns, errors="ignore")], axis=1),
        params,
        filters,
    )
    runs = Runs(table.sort_values(ORDER))
    runs.client, runs.all_params = client, params
    return runs


def row(run: Run) -> dict[str, object]:
    """What the store holds of a run: names, tags and numbers, without its settings."""
    tags, params = run.data.tags, run.data.params
    # The store keeps the last point of a curve as a metric; it is no number of the whole run.
    metrics = {metric.key: metric.value for metric in run.data._metric_objs if metric.step == 0}
    return {
        "variant": naming.recorded_label(tags["method"], params, tags.get("variant")),
        "stream": naming.recorded_stream(tags["dataset"], params, tags.get("stream")),
        "seed": int(tags["seed"]),
        **metrics,
        **{name: tags.get(name, "") for name in TAGS},
        **{name: float(tags.get(name, "nan")) for name in SHAPE},
        "config_sha256": naming.config_sha256(params),
        "started": run.info.start_time,
    }


def _filtered(
    table: pd.DataFrame, params: pd.DataFrame, filters: Mapping[str, object]
) -> pd.DataFrame:
    for name, wanted in filters.items():
        if name not in table and name not in params:
            known = [*table, *params]
            close = difflib.get_close_matches(name, known, 1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise UserError(f"Runs have no column or setting '{name}' to filter by.{hint}")
        column = table[name] if name in table else params.loc[table.index, name]
        values: list[Any] = (
            list(wanted) if isinstance(wanted, list | tuple | set | range) else [wanted]
        )
        table = table[column.astype(str).isin([str(value) for value in values])]
        if table.empty:
            there = ", ".join(sorted(set(column.astype(str)))[:10])
            raise UserError(f"No run has {name}={wanted}. There is: {there}.")
    return table


def _open(uri: str | None) -> tuple[PatientClient, str]:
    """A client, and the store's address as a person may see it."""
    address = store_uri(uri)
    file = sqlite_file(address)
    if file is not None and not file.exists():  # MLflow would make an empty one
        raise UserError(f"There is no store {file}. {START}")
    return PatientClient(address), shown(address)


def _finished(client: PatientClient, experiment: str, place: str) -> Iterator[Run]:
    known = client.get_experiment_by_name(experiment)
    if known is None:
        raise UserError(f"The store {place} has no experiment '{experiment}'. {START}")
    token = None
    while True:
        page = client.search_runs(
            [known.experiment_id],
            "tags.kind = 'run' and attributes.status = 'FINISHED'",
            max_results=PAGE,
            order_by=["attributes.start_time ASC"],
            page_token=token,
        )
        yield from page
        if not (token := page.token):
            return
