"""Which of a store's finished runs are shown, and under which names."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdsl.errors import UserError
from sdsl.report import export
from sdsl.report.runs import CELL, CURVES, SHAPE, TEXT_COLUMNS, Runs, is_short

PROBE = "probe._target_"
COLUMNS = [*TEXT_COLUMNS, "seed", "T", "test_rows", "started", *SHAPE]  # before the metrics
NOT_OF_STREAM = ("probe", "eval")  # sections that change neither the stream nor its results


def read(uri: str | None = None, experiment: str = "sdsl") -> Runs:
    """The runs of a store that are shown."""
    from sdsl.tracking.results import results  # MLflow takes seconds to load

    table = results(uri, experiment, settings=[PROBE])
    frame, notes = select(as_rows(table))
    return _with_arrays(frame, table.loc[frame.index], uri, notes)


def merge(folders: Sequence[Path]) -> Runs:
    """The runs of one or several exports that are shown."""
    runs = export.read(*folders)
    frame, notes = select(runs.frame)
    return dataclasses.replace(runs, frame=frame, notes=(*runs.notes, *notes))


def select(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The newest runs of every cell; short ones (stream.max_segments) if there are no others."""
    short, notes = frame.setting.map(is_short), []
    if short.any() and not short.all():
        notes.append(f"{short.sum()} short runs (stream.max_segments is set) are left out")
        frame = frame[~short]
    frame, more = newest(name_streams(frame))
    return frame, [*notes, *more]


def as_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The table of a store with the columns of runs.csv, but T and test_rows."""
    frame = table.rename(columns={"source": "data_source"})
    frame["probe"] = frame[PROBE].str.split(".").str[-2]  # the file: none, flatness, ...
    frame["setting"] = frame.setting.map(_of_stream)
    metrics = [name for name in frame.select_dtypes("number") if name not in COLUMNS]
    return frame[[name for name in (*COLUMNS, *metrics) if name in frame]]


def _of_stream(setting: str) -> str:
    """'prefix=calibrated' of 'probe=flatness, prefix=calibrated'."""
    parts = re.split(r", (?=[\w.@]+=)", setting)  # a value may hold commas
    return ", ".join(part for part in parts if not part.startswith(NOT_OF_STREAM))


def name_streams(frame: pd.DataFrame) -> pd.DataFrame:
    """Gives different rows of data different stream names.

    Of several data under one name, those that most runs used keep the name.
    """
    frame = frame.copy()
    for name, runs in frame.groupby("stream"):
        uses = runs.groupby("stream_sha256").started.agg(["size", "max"])
        most_used = uses.sort_values(["size", "max"]).index[-1]
        for sha256 in uses.index.drop(most_used):
            others = runs[runs.stream_sha256 == sha256]
            label = f"{name} ({others.standing.iloc[0]} data {sha256[:8]})"
            frame.loc[others.index, "stream"] = label
    return frame


def newest(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Of every cell the runs of its newest group (code, config and data); notes on the others."""
    chosen, notes = [], []
    by_age = frame.sort_values("started", kind="stable")
    for (setting, stream, variant, _), runs in by_age.groupby(CELL, sort=True):
        last = runs.iloc[-1]
        shown = runs[runs.group_key == last.group_key].drop_duplicates("seed", keep="last")
        chosen.append(shown)
        if older := len(runs) - len(shown):
            place = f"{variant} on {stream}" + (f" ({setting})" if setting else "")
            notes.append(
                f"{place}: the {len(shown)} newest of {len(runs)} runs are shown (code "
                f"{last.code_sha256[:8]}); {older} older ones are left out"
            )
    return pd.concat(chosen), notes


def _with_arrays(
    frame: pd.DataFrame, table: pd.DataFrame, uri: str | None, notes: list[str]
) -> Runs:
    """The runs with their R, curves and configs; each file is read once."""
    from sdsl.tracking.results import load, load_config, load_curves, load_R

    R: dict[str, np.ndarray] = {}
    curves: dict[str, dict[str, np.ndarray]] = {name: {} for name in CURVES}
    configs: dict[str, dict[str, Any]] = {}
    for run_id, run in table.iterrows():
        try:
            matrix, columns = load_R(run, uri), load_curves(run, uri)
            if run.group_key not in configs:
                configs[run.group_key] = load_config(run, uri)
        except (UserError, ValueError):
            continue
        R[run_id] = matrix
        for name in CURVES:
            if name in columns:
                curves[name][run_id] = _without_tail(columns[name].to_numpy(float))
    if lost := len(frame) - len(R):
        notes = [*notes, f"{lost} runs are left out: their R, curves or config are lost"]
    if not R:
        raise UserError("No finished run still has its files R.npy, curves.csv and config.yaml.")
    frame = frame.loc[list(R)].assign(T=[len(matrix) for matrix in R.values()], test_rows=0)
    for _, runs in frame.groupby(["setting", "stream"]):
        frame.loc[runs.index, "test_rows"] = export.rows_tested([R[run] for run in runs.index])
    frame = frame[[*COLUMNS, *frame.columns.drop(COLUMNS)]].rename_axis("run_id")
    try:
        environment = load(table.loc[frame.started.idxmax()], "environment.txt", uri).decode()
    except UserError:
        environment = ""
    return Runs(frame, R, curves, configs, tuple(notes), environment)


def _without_tail(points: np.ndarray) -> np.ndarray:
    """A curve that is shorter than others of its run ends in NaN."""
    known = np.flatnonzero(np.isfinite(points))
    return points[: known[-1] + 1 if len(known) else 0]
