"""Reads a tracking store: every finished run that still holds its R."""

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from sdsl.config import naming
from sdsl.errors import UserError
from sdsl.report.runs.results import SHAPE_COLUMNS, Results
from sdsl.report.runs.selection import Selection, name_streams, never_as_shipped, newest
from sdsl.tracking.address import shown, store_uri
from sdsl.tracking.client import PatientClient

START = "Start with: python -m sdsl.run +sweeps=smoke"
CURVES = ("pseudo_label_acc", "flatness_one_sided", "flatness_symmetric")  # R holds the others
# The store keeps the last point of a step curve as a metric; it is no number of the whole run.
STEP_CURVES = {"online", "online_mean", "past_mean", "final", *CURVES}
TAGS = (
    *("method", "labeler", "replay", "group_key", "code_sha256", "git_sha", "dirty"),
    *("data_sha256", "data_source", "data_standing", "stream_sha256"),
)


def gather(uri: str | None, experiment: str = "sdsl", short: bool = False) -> Results:
    """The runs of an experiment; those with stream.max_segments only if `short`."""
    client, place = _open(uri), _place(uri)
    rows = [row(run) for run in _finished(client, experiment, place)]
    if not rows:
        raise UserError(f"No finished run in experiment '{experiment}' of {place}. {START}")
    chosen = Selection(pd.DataFrame(rows))
    if not short:
        unwanted = chosen.frame.short != ""
        chosen = chosen.without(unwanted, "short runs (stream.max_segments is set)")
        if chosen.frame.empty:
            raise UserError(f"All runs of {place} are short. To see them, add --include-short.")
    current = newest(name_streams(chosen.frame))
    return _read(client, current, chosen.notes)


def _read(client: PatientClient, current: Selection, notes: tuple[str, ...]) -> Results:
    """The R and the curves of the selected runs."""
    R: dict[str, np.ndarray] = {}
    curves: dict[str, dict[str, np.ndarray]] = {name: {} for name in CURVES}
    for run_id in current.frame.run_id:
        try:
            with tempfile.TemporaryDirectory() as folder:
                file = client.download_artifacts(run_id, "R.npy", folder)
                matrix = np.load(file, allow_pickle=False)
                columns = read_curves(Path(client.download_artifacts(run_id, "curves.csv", folder)))
        except (OSError, ValueError, MlflowException):
            continue
        R[run_id] = matrix
        for name in CURVES:
            if name in columns:
                curves[name][run_id] = columns[name]
    lost = ~current.frame.run_id.isin(list(R))
    complete = Selection(current.frame, notes).without(lost, "runs whose R or curves are lost")
    frame = complete.frame.set_index("run_id")
    frame["T"] = [len(R[run]) for run in frame.index]
    frame = frame.sort_values(["prefix", "stream", "variant", "probe", "seed"])
    notes = (*complete.notes, *never_as_shipped(frame), *current.notes)
    return Results(frame, R, curves, notes, _environment(client, str(frame.started.idxmax())))


def _environment(client: PatientClient, run_id: str) -> str:
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = client.download_artifacts(run_id, "environment.txt", folder)
            return Path(file).read_text(encoding="utf-8")
    except (OSError, MlflowException):
        return ""


def _place(uri: str | None) -> str:
    """The store's address as a person may see it: without options and passwords."""
    return shown(store_uri(uri))


def _open(uri: str | None) -> PatientClient:
    place = _place(uri)
    file = place.removeprefix("sqlite:///")
    if file != place and not Path(file).exists():  # MLflow would make an empty one
        raise UserError(f"There is no store {file}. {START}")
    return PatientClient(store_uri(uri))


def _finished(client: PatientClient, experiment: str, place: str) -> Iterator[Run]:
    known = client.get_experiment_by_name(experiment)
    if known is None:
        raise UserError(f"The store {place} has no experiment '{experiment}'. {START}")
    token = None
    while True:
        page = client.search_runs(
            [known.experiment_id],
            "tags.kind = 'run' and attributes.status = 'FINISHED'",
            max_results=1000,
            order_by=["attributes.start_time ASC"],
            page_token=token,
        )
        yield from page
        if not (token := page.token):
            return


def row(run: Run) -> dict[str, object]:
    """A run as a row of runs.csv, without its R."""
    tags, params = run.data.tags, run.data.params
    max_segments = params.get("stream.max_segments", "None")
    return {
        "run_id": run.info.run_id,
        "variant": naming.method_label(tags["method"], params),
        "stream": naming.stream_label(tags["dataset"], params),
        "prefix": params.get("stream.prefix", "literal"),
        "short": "" if max_segments == "None" else max_segments,
        "probe": params.get("probe.name", "none"),
        "dataset": tags["dataset"],
        "seed": int(tags["seed"]),
        **{name: tags.get(name, "") for name in TAGS},
        "config_sha256": naming.config_sha256(params),
        "started": run.info.start_time,
        "test_rows": int(params.get("dataset.test_size", 0)),
        "bounds": params.get("probe.bounds", ""),
        # Older runs have no such tags.
        **{name: float(tags.get(f"data_{name}", "nan")) for name in SHAPE_COLUMNS},
        **{name: value for name, value in run.data.metrics.items() if name not in STEP_CURVES},
    }


def read_curves(file: Path) -> dict[str, np.ndarray]:
    """The columns of curves.csv; the empty end of a shorter curve is cut off."""
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    columns = {}
    for name, *cells in zip(*rows, strict=True):
        points = np.array([float(cell) if cell else np.nan for cell in cells])
        known = np.flatnonzero(np.isfinite(points))
        columns[name] = points[: known[-1] + 1] if len(known) else points[:0]
    return columns
