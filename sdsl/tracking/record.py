"""The contents of a run in MLflow: metrics, curves, params, and its files."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param
from omegaconf import OmegaConf

from sdsl.core import metrics
from sdsl.tracking import PROBED, provenance
from sdsl.tracking.identity import Group, added, flat, settings

if TYPE_CHECKING:
    from sdsl.core.engine import Outcome
    from sdsl.experiment import Trial

CURVES = ("online", "online_mean", "final", "past_mean", "pseudo_label_acc", "estimated_acc")
MEASURED = (
    "test_acc",
    "pseudo_label_",
    "estimated_acc",
)  # by the engine; all other logs are a component's
POINTS, STEP_POINTS = 250, 100  # in MLflow: of a curve, and of all under step/ together
LONGEST_TABLE = 200  # segments up to which R is also written as a table
CSV: Any = {"index_label": "step", "float_format": "%.9g"}
LONGEST_PARAM = 6000  # MLflow's limit on a value
BATCH, PARAMS = 1000, 100  # MLflow's limits on one call: values in all, and params among them


def summary(outcome: "Outcome") -> dict[str, float]:
    """The metrics of a run, named and defined in core/metrics.py."""
    logged, seconds = outcome.curves, outcome.seconds
    numbers = metrics.summarise(outcome.R).as_dict()
    numbers |= metrics.summarise_classes(outcome.confusion, outcome.final_confusion).as_dict()
    if "pseudo_label_acc" in logged:
        numbers["pseudo_label_acc_mean"] = float(np.nanmean(logged["pseudo_label_acc"]))
    if "estimated_acc" in logged:
        numbers["ece"] = metrics.calibration_error(outcome.reliability)
        off = np.abs(logged["estimated_acc"] - logged["pseudo_label_acc"])
        numbers["estimate_error"] = float(np.nanmean(off))
    swap = metrics.swap_steps(logged["test_acc"], logged["test_acc_relabelled"])
    return numbers | {
        "swap_steps": float(swap),
        "lasting_swap": float(metrics.is_lasting(swap, outcome.R.shape[1])),
        "seconds_train": seconds.get("train", 0.0) + seconds.get("label", 0.0),
        "seconds_eval": seconds.get("eval", 0.0),
    }


def results(trial: "Trial") -> dict[str, float]:
    """The metrics of a run, and the numbers of its probe."""
    own = {k: v for k, v in trial.probed.items() if not isinstance(v, np.ndarray)}
    named = {PROBED + legal(k).replace("/", "_"): float(v) for k, v in own.items()}
    return summary(trial.outcome) | named


def probe_curves(trial: "Trial") -> dict[str, np.ndarray]:
    return {k: v for k, v in trial.probed.items() if isinstance(v, np.ndarray)}


def all_curves(trial: "Trial") -> pd.DataFrame:
    """The columns of curves.csv, index step. A probe may have fewer points, or more.

    So has the reliability: 50 steps of what is said, see core/metrics.py.
    """
    curves = metrics.curves(trial.outcome.R) | trial.outcome.curves | probe_curves(trial)
    if "estimated_acc" in curves:
        names = ("reliability_rows", "reliability_said", "reliability_right")
        curves |= dict(zip(names, trial.outcome.reliability.T, strict=True))
    table = pd.DataFrame({name: pd.Series(values) for name, values in curves.items()})
    return table.set_axis(range(1, len(table) + 1))


def points(trial: "Trial") -> list[Metric]:
    """Metrics at step 0, as `mlflow ui` draws bars of those, and curves."""
    found = [metric(name, value) for name, value in results(trial).items()]
    curves = all_curves(trial)
    for name in [name for name in (*CURVES, *probe_curves(trial)) if name in curves]:
        found += curve(f"curve/{legal(name)}", curves[name])
    own = [name for name in trial.outcome.curves if not name.startswith(MEASURED)]
    for name in own:
        found += curve(f"step/{legal(name)}", curves[name], max(2, STEP_POINTS // len(own)))
    return found


def metric(name: str, value: float, step: int = 0) -> Metric:
    return Metric(name, float(value), int(time.time() * 1000), step)


def curve(name: str, values: pd.Series, most: int = POINTS) -> list[Metric]:
    """At most so many points of a curve (index step), its ends among them; gaps left out."""
    known = values[np.isfinite(values)]
    if len(known) > most:
        known = known.iloc[np.linspace(0, len(known) - 1, most).round().astype(int)]
    return [metric(name, value, int(step)) for step, value in known.items()]


def legal(name: str) -> str:
    """MLflow takes letters, digits and a few signs in the name of a metric."""
    return "".join(c if c.isalnum() or c in "_-. /" else "_" for c in name)


def params(config: Mapping[str, Any], seed: int | None = None) -> list[Param]:
    """Every setting by its dotted name, and the keys that a user added; not `+tags.NAME=...`."""
    own = {key: value for key, value in added(config).items() if key != "tags"}
    known = flat(settings(config)) | flat(own) | ({} if seed is None else {"seed": seed})
    return [Param(name, str(value)[:LONGEST_PARAM]) for name, value in known.items()]


def tags(group: Group) -> dict[str, str]:
    """Tags that a run has and its parent, too; a user's own first, so that they replace none."""
    own = group.config.get("tags")
    mine = {legal(key): str(v) for key, v in flat(own).items()} if isinstance(own, Mapping) else {}
    return {**mine, **group.tags, **provenance.tags()}


def log(client: MlflowClient, run_id: str, metrics: list[Metric], params: list[Param]) -> None:
    """In as few calls as MLflow's limits allow."""
    while metrics or params:
        room = BATCH - len(params[:PARAMS])
        client.log_batch(run_id, metrics[:room], params[:PARAMS])
        metrics, params = metrics[room:], params[PARAMS:]


def dataset(group: Group) -> DatasetInput:
    """The rows as MLflow knows data sets; its own digest reads only the first 10,000 values."""
    tags, digest = group.tags, group.tags["data_sha256"][:12]
    source = json.dumps({name: tags[name] for name in ("source", "standing")})
    profile = json.dumps({f"num_{name}": int(tags[name]) for name in ("rows", "features")})
    rows = Dataset(tags["dataset"], digest, "sdsl", source, profile=profile)
    return DatasetInput(rows, [InputTag("mlflow.data.context", tags["standing"])])


def write_files(
    folder: Path, config: Mapping[str, Any], trial: "Trial", title: str, footnote: str
) -> None:
    """All files of a run. R is written without the row of the model that saw gold only: [T, T]."""
    outcome, R = trial.outcome, trial.outcome.R[1:]
    np.save(folder / "R.npy", R)
    if len(R) <= LONGEST_TABLE:
        np.savetxt(folder / "R.csv", R, fmt="%.6g", delimiter=",")
    heat_map(folder / "R.png", R, title, footnote)
    counts = [outcome.confusion, outcome.final_confusion]  # each [T, C, C]: core/metrics.py
    np.save(folder / "confusion.npy", np.stack(counts).astype(np.int32))
    texts = {
        "curves.csv": all_curves(trial).to_csv(**CSV),
        "config.yaml": OmegaConf.to_yaml(dict(config)),
        "columns.txt": "".join(f"{note}\n" for note in trial.stream.table.notes),
        "environment.txt": provenance.packages(),
        "diff.patch": provenance.diff(),
    }
    for name, text in texts.items():
        if text:
            (folder / name).write_text(text, encoding="utf-8")


def heat_map(file: Path, R: np.ndarray, title: str, footnote: str) -> None:
    """R[i, j] in colours that can be told apart when colour-blind and in print."""
    from matplotlib.figure import Figure  # half a second, and only here

    low, end = min(0.9, np.floor(10 * np.nanmin(R)) / 10), len(R) + 0.5
    figure = Figure(figsize=(4.6, 4.2))
    axes = figure.add_axes((0.13, 0.17, 0.66, 0.72))  # a layout engine would draw it all twice
    colours = {"cmap": "cividis", "vmin": low, "vmax": 1.0, "interpolation": "nearest"}
    image = axes.imshow(np.ma.masked_invalid(R), extent=(0.5, end, end, 0.5), **colours)
    axes.set(xlabel="test segment j", ylabel="after learning segment i")
    axes.set_title(title, fontsize=10, parse_math=False)  # a name with $ signs is no formula
    figure.colorbar(image, cax=figure.add_axes((0.82, 0.17, 0.035, 0.72)), label="accuracy R[i, j]")
    figure.text(0.01, 0.015, footnote, fontsize=6, color="0.35", parse_math=False)
    figure.savefig(file, dpi=110)
