"""The runs of a tracking store as the report's Results: those that still hold their R."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import OmegaConf

from sdsl.errors import UserError
from sdsl.report.runs.results import SHAPE_COLUMNS, Results
from sdsl.report.runs.selection import Selection, name_streams, never_as_shipped, newest
from sdsl.tracking.address import shown, store_uri
from sdsl.tracking.tidy import Runs, results

CURVES = ("pseudo_label_acc", "flatness_one_sided", "flatness_symmetric")  # R holds the others
COLUMNS = [  # what a report needs; the metrics follow
    *("run_id", "variant", "stream", "prefix", "short", "probe", "dataset", "seed"),
    *("method", "labeler", "replay", "group_key", "code_sha256", "git_sha", "dirty"),
    *("data_sha256", "data_source", "data_standing", "stream_sha256", "config_sha256"),
    *("started", "test_rows", "bounds", *SHAPE_COLUMNS),
]


def gather(uri: str | None, experiment: str = "sdsl", short: bool = False) -> Results:
    """The runs of an experiment; those with stream.max_segments only if `short`."""
    runs = results(uri, experiment)
    chosen = Selection(as_rows(runs))
    if not short:
        unwanted = chosen.frame.short != ""
        chosen = chosen.without(unwanted, "short runs (stream.max_segments is set)")
        if chosen.frame.empty:
            place = shown(store_uri(uri))
            raise UserError(f"All runs of {place} are short. To see them, add --include-short.")
    current = newest(name_streams(chosen.frame))
    return _read(runs, current, chosen.notes)


def as_rows(runs: Runs) -> pd.DataFrame:
    """The rows of runs.csv, without T."""
    params = runs.params

    def param(name: str, default: str) -> pd.Series:
        return params[name].fillna(default) if name in params else default

    frame = pd.DataFrame(runs.reset_index()).set_index("run_id", drop=False)
    frame["prefix"] = param("stream.prefix", "literal")
    frame["short"] = param("stream.max_segments", "None")
    frame["short"] = frame.short.replace("None", "")
    frame["probe"] = param("probe.name", "none")
    frame["test_rows"] = param("dataset.test_size", "0")
    # Where no number is set, a fifth of a segment tests.
    frame["segment"] = param("dataset.segment_size", "0")
    tested = pd.to_numeric(frame.test_rows, errors="coerce")
    frame["test_rows"] = tested.fillna(frame.segment.astype(int) // 5).astype(int)
    frame["bounds"] = param("probe.bounds", "")
    frame = frame.rename(columns={f"data_{name}": name for name in SHAPE_COLUMNS})
    metrics = [name for name in frame.select_dtypes("number") if name not in COLUMNS]
    return frame[[*COLUMNS, *metrics]].reset_index(drop=True)


def _read(runs: Runs, current: Selection, notes: tuple[str, ...]) -> Results:
    """The R and the curves of the selected runs."""
    R: dict[str, np.ndarray] = {}
    curves: dict[str, dict[str, np.ndarray]] = {name: {} for name in CURVES}
    for run_id in current.frame.run_id:
        try:
            matrix, columns = runs.R(run_id), runs.curves_of(run_id)
        except (UserError, ValueError):
            continue
        R[run_id] = matrix
        for name in CURVES:
            if name in columns:
                curves[name][run_id] = columns[name].to_numpy()
    lost = ~current.frame.run_id.isin(list(R))
    complete = Selection(current.frame, notes).without(lost, "runs whose R or curves are lost")
    frame = complete.frame.set_index("run_id")
    frame["T"] = [len(R[run]) for run in frame.index]
    frame = frame.sort_values(["prefix", "stream", "variant", "probe", "seed"])
    notes = (*complete.notes, *never_as_shipped(frame), *current.notes)
    environment = _environment(runs, str(frame.started.idxmax()))
    in_context = _in_context(runs, frame)
    return Results(frame, R, curves, notes, environment, in_context, _configs(runs, frame))


def _configs(runs: Runs, frame: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """group_key -> the config of its first run."""
    found: dict[str, Any] = {}
    for run_id, group in frame.group_key.drop_duplicates().items():
        with suppress(UserError):  # the file is lost: this group cannot be run again
            text = runs.file(str(run_id), "config.yaml").decode()
            found[group] = OmegaConf.to_container(OmegaConf.create(text))
    return found


def _in_context(runs: Runs, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """R_context of the runs that have one; older runs have only its means."""
    found: dict[str, np.ndarray] = {}
    means = frame.get("acc_final_context", pd.Series(dtype=float))
    for run_id in means.dropna().index:
        with suppress(UserError, ValueError):
            found[run_id] = runs.R_context(run_id)
    return found


def _environment(runs: Runs, run_id: str) -> str:
    try:
        return runs.file(run_id, "environment.txt").decode()
    except UserError:
        return ""
