"""A tracking store -> Results: every finished seed run that still holds its R."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from sdsl.config import naming as variants
from sdsl.errors import UserError
from sdsl.report.runs.results import Results, newest
from sdsl.tracking.client import PatientClient, store_uri

KEPT = ("pseudo_label_acc", "flatness_one_sided", "flatness_symmetric")  # the rest R can give
TAGS = ("method", "labeler", "replay", "group_key", "code_sha256", "git_sha", "dirty")
SIZES = ("rows", "features", "classes")
DATA = ("data_sha256", "data_source", "data_standing", "stream_sha256")


def gather(uri: str | None, experiment: str = "sdsl", short: bool = False) -> Results:
    """Short runs (stream.max_segments is set) are left out unless asked for."""
    where = store_uri(uri).partition("?")[0]
    file = where.removeprefix("sqlite:///")
    if file != where and not Path(file).exists():  # MLflow would make an empty one
        raise UserError(f"There is no store {file}. Start with: python -m sdsl.run +sweeps=smoke")
    client = PatientClient(store_uri(uri))
    notes: list[str] = []
    rows = [_row(run) for run in _finished(client, experiment, where)]
    if not rows:
        raise UserError(
            f"No finished run in experiment '{experiment}' of {where}. "
            "Start with: python -m sdsl.run +sweeps=smoke"
        )
    frame = pd.DataFrame(rows)
    if not short:
        notes += _left_out(frame, frame.short != "", "short runs (stream.max_segments is set)")
        frame = frame[frame.short == ""]
        if frame.empty:
            raise UserError(f"All runs of {where} are short ones: ask for them by --include-short.")
    frame = _apart(frame)
    frame, gave_way = newest(frame)
    R, curves, missing = {}, {name: {} for name in KEPT}, []
    for run_id in frame.run_id:
        try:
            R[run_id] = np.load(client.download_artifacts(run_id, "R.npy"), allow_pickle=False)
            found = read_curves(Path(client.download_artifacts(run_id, "curves.csv")))
        except (OSError, ValueError, MlflowException):
            missing.append(run_id)
            continue
        for name in KEPT:
            if name in found:
                curves[name][run_id] = found[name]
    notes += _left_out(frame, frame.run_id.isin(missing), "runs whose R or curves are gone")
    frame = frame[~frame.run_id.isin(missing)].set_index("run_id")
    frame["T"] = [len(R[run]) for run in frame.index]
    order = ["prefix", "stream", "variant", "probe", "seed"]
    return Results(frame.sort_values(order), R, curves, (*notes, *_strayed(frame), *gave_way))


def _finished(client: PatientClient, experiment: str, where: str) -> Iterator[Run]:
    known = client.get_experiment_by_name(experiment)
    if known is None:
        raise UserError(f"The store {where} has no experiment '{experiment}': run something first.")
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


def _row(run: Run) -> dict[str, object]:
    """A run without its R; every column that a reader of runs.csv may want."""
    tags, params = run.data.tags, run.data.params
    short = params.get("stream.max_segments", "None")
    return {
        "run_id": run.info.run_id,
        "variant": variants.method_label(tags["method"], params),
        "stream": variants.stream_label(tags["dataset"], params),
        "prefix": params.get("stream.prefix", "literal"),
        "short": "" if short == "None" else short,
        "probe": params.get("probe.name", "none"),
        "dataset": tags["dataset"],
        "seed": int(tags["seed"]),
        **{name: tags.get(name, "") for name in (*TAGS, *DATA)},
        "config_sha256": variants.config_sha256(params),
        "started": run.info.start_time,
        "test_rows": int(params.get("dataset.test_size", 0)),
        "bounds": params.get("probe.bounds", ""),
        **{k: float(params.get(f"dataset.expect.{k}", "nan")) for k in SIZES},
        **{name: value for name, value in run.data.metrics.items() if name not in STEPS},
    }


# Step curves: the store keeps their last point as a metric, which is no number of the run.
STEPS = {"online", "online_mean", "past_mean", "final", *KEPT}


def _apart(frame: pd.DataFrame) -> pd.DataFrame:
    """Other rows under the same name are another stream: the most used ones keep the name."""
    frame = frame.copy()
    for name, runs in frame.groupby("stream"):
        used = runs.groupby("stream_sha256").started.agg(["size", "max"])
        main = used.sort_values(["size", "max"]).index[-1]
        for sha in used.index.drop(main):
            rows = runs.index[runs.stream_sha256 == sha]
            standing = runs.data_standing[rows[0]]
            frame.loc[rows, "stream"] = f"{name} ({standing} data {sha[:8]})"
    if "short" in frame:
        shortened = frame.short != ""
        frame.loc[shortened, "stream"] += " (T=" + frame.short[shortened] + ")"
    return frame


def _strayed(frame: pd.DataFrame) -> list[str]:
    """Methods that never ran with the settings conf/ gives them now: no claim is tested on them."""
    notes = []
    for method, runs in frame.groupby("method"):
        if method not in set(frame.variant):
            what = ", ".join(sorted(set(runs.variant)))
            notes.append(f"No run of {method} has the settings of conf/ as it is now; run: {what}")
    return notes


def _left_out(frame: pd.DataFrame, which: pd.Series, why: str) -> list[str]:
    return [f"{int(which.sum())} {why} are left out"] if which.any() else []


def read_curves(file: Path) -> dict[str, np.ndarray]:
    """The columns of curves.csv; the empty tail of a shorter curve is cut."""
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    columns = {}
    for name, *cells in zip(*rows, strict=True):
        points = np.array([float(cell) if cell else np.nan for cell in cells])
        known = np.flatnonzero(np.isfinite(points))
        columns[name] = points[: known[-1] + 1] if len(known) else points[:0]
    return columns
