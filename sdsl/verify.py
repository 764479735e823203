"""Same config, same bits: rerun a recorded run and compare its R.

python -m sdsl.verify RUN_ID                     a run of an MLflow store
python -m sdsl.verify --sample 20 outputs/paper  random runs of an exported folder
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdsl.errors import UserError

WATCHED = (
    *("run_key", "data_sha256", "stream_sha256", "code_sha256", "git_sha", "dirty"),
    *("torch", "numpy", "numba", "scipy", "scikit-learn", "python", "cpu"),
)
CLOCKS = ("seconds_train", "seconds_eval")


def verify(run_id: str, uri: str | None = None) -> bool:
    """Whether a rerun of a stored run gives the same R; prints that, and all that differs."""
    from sdsl import experiment
    from sdsl.config import setup
    from sdsl.tracking import provenance, record
    from sdsl.tracking.address import store_uri, view
    from sdsl.tracking.identity import describe, run_key
    from sdsl.tracking.results import get_run, load_config, load_R, numbers

    run = get_run(run_id, uri)
    if run.info.status != "FINISHED" or run.data.tags.get("kind") != "run":
        raise UserError(f"Run {run_id} is not a finished run of one seed.")
    made = setup(load_config(run_id, uri))
    table, seed = experiment.load(made), made.seeds[0]
    outcome = experiment.run(made, seed, table).outcome
    group = describe(made, table)
    metrics, key = record.summary(outcome), run_key(group.group_key, seed)
    before: dict[str, Any] = {**run.data.tags, **numbers(run)}
    now: dict[str, Any] = {**provenance.tags(), **group.tags, "run_key": key, **metrics}
    differences = [
        f"{name}: was {before.get(name)}, is {now[name]}"
        for name in (*WATCHED, *(name for name in metrics if name not in CLOCKS))
        if before.get(name) != now[name]
    ]
    cells = differing_cells(load_R(run_id, uri), outcome.R[1:])
    print(f"{run.info.run_name}: {about(cells)}.")
    print("\n  ".join(["Differences:", *(differences or ["none that is recorded"])]))
    print(view(store_uri(uri), run.info.experiment_id, [run_id]))
    return cells == 0


def differing_cells(recorded: np.ndarray, R: np.ndarray) -> int | None:
    """How many of the recorded cells that were evaluated; None if the shapes differ."""
    same = recorded.shape == R.shape
    return int((np.isfinite(recorded) & (recorded != R)).sum()) if same else None


def sample(folder: Path, count: int, seed: int) -> bool:
    """Whether reruns of random runs of an export give the same R; prints each."""
    from sdsl import experiment
    from sdsl.config import composed, setup
    from sdsl.report import export

    found, here = [], composed()["data"]  # files are where they are on this machine
    for run in export.sample(folder, count, seed):
        made = setup({**run.config, "data": here})
        table = experiment.load(made)
        R = experiment.run(made, run.seed, table).outcome.R[1:]
        found.append(differing_cells(run.R, R))
        data = "" if table.sha256 == run.data_sha256 else " (the data is not the same)"
        more = f", {shift(run.R, R, run.moved)}" if found[-1] else ""
        print(f"{run.name}: {about(found[-1])}{more}{data}", flush=True)
    print(f"{found.count(0)} of {len(found)} are the same, bit for bit.")
    return found.count(0) == len(found) > 0


def about(cells: int | None) -> str:
    known = {0: "R is the same, bit for bit", None: "R has another shape"}
    return known.get(cells, f"R differs in {cells} cells")


def shift(recorded: np.ndarray, R: np.ndarray, moved: float) -> str:
    """How far Acc_t is off, and whether the report marks the number as fragile."""
    from sdsl.report.runs import FRAGILE

    gap = abs(np.diagonal(recorded).mean() - np.diagonal(R).mean())
    marked = "marked" if moved > FRAGILE else "not marked"
    known = "not measured" if np.isnan(moved) else f"{marked}: jitter moves a seed by {moved:.3f}"
    return f"Acc_t by {gap:.4f}; as fragile {known}"


def main(words: Sequence[str] | None = None) -> int:
    kept = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser("sdsl.verify", description=__doc__, formatter_class=kept)
    add = parser.add_argument
    add("run", metavar="RUN_ID | FOLDER", nargs="?", default="outputs/paper")
    add("--sample", type=int, metavar="N", help="rerun N random runs of an exported folder")
    add("--seed", type=int, default=0, help="which random runs (default: %(default)s)")
    add("--uri", default=os.environ.get("MLFLOW_TRACKING_URI"), help="default: ./mlflow.db")
    args = parser.parse_args(words)
    try:
        if args.sample is not None:
            return 0 if sample(Path(args.run), args.sample, args.seed) else 1
        return 0 if verify(args.run, args.uri) else 1
    except UserError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
