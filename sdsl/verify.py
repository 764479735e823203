"""Same config, same bits: rerun a recorded run and compare its R.

python -m sdsl.verify RUN_ID                     a run of an MLflow store
python -m sdsl.verify --sample 20 outputs/paper  random runs of an exported folder
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdsl.errors import UserError

WATCHED = (
    *("run_key", "data_sha256", "stream_sha256", "code_sha256", "git_sha", "dirty"),
    *("torch", "numpy", "numba", "scipy", "scikit-learn", "python", "cpu"),
)
CLOCKS = ("seconds_train", "seconds_eval")
# Settings of older exports that no longer exist, and had no effect on the runs in them.
RETIRED = (
    *("labeler.name", "replay.name", "probe.name", "eval.columns", "eval.context"),
    *("replay.memory", "replay.memory_rows", "replay.held.agreement", "replay.held.overlap"),
    "replay.restore",  # now restore_share
)


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


def current(config: Mapping[str, Any]) -> dict[str, Any]:
    """An exported config as conf/ composes it now; UserError if its method or settings are gone."""
    from sdsl.config import composed
    from sdsl.tracking.identity import flat, settings

    if "name" not in config["labeler"]:
        return {**config, "data": composed()["data"]}  # files are where they are on this machine
    words = [f"method={config['method']['name']}", f"probe={config['probe']['name']}"]
    try:
        new = composed(*words, f"dataset={_option(config['dataset']['name'])}")
    except Exception as error:
        raise UserError(" ".join(str(error).split("\n")[:2])) from None
    for name, value in flat(settings(config)).items():
        section, *path, key = new, *name.split(".")
        for part in path:
            section = section.get(part, {})
        if key in section:
            section[key] = value
        elif name not in RETIRED:
            raise UserError(f"The setting {name} no longer exists.")
    return new


def _option(name: str) -> str:
    """'archive/4cr' for the dataset named archive_4cr."""
    from sdsl.config.compose import home

    folder = home() / "conf" / "dataset"
    for file in sorted(folder.rglob("*.yaml")):
        if f"\nname: {name}\n" in f"\n{file.read_text(encoding='utf-8')}\n":
            return file.relative_to(folder).with_suffix("").as_posix()
    raise UserError(f"There is no dataset named {name}.")


def sample(folder: Path, count: int, seed: int) -> bool:
    """Whether reruns of random runs of an export give the same R; prints each."""
    from sdsl import experiment
    from sdsl.config import setup
    from sdsl.report import export

    found, left_out = [], 0
    for run in export.sample(folder, count, seed):
        try:
            made = setup(current(run.config))
        except UserError as error:
            left_out += 1
            print(f"{run.name}: left out. {error}", flush=True)
            continue
        table = experiment.load(made)
        found.append(differing_cells(run.R, experiment.run(made, run.seed, table).outcome.R[1:]))
        data = "" if table.sha256 == run.data_sha256 else " (the data is not the same)"
        print(f"{run.name}: {about(found[-1])}{data}", flush=True)
    print(f"{found.count(0)} of {len(found)} are the same, bit for bit; {left_out} left out.")
    return found.count(0) == len(found) > 0


def about(cells: int | None) -> str:
    known = {0: "R is the same, bit for bit", None: "R has another shape"}
    return known.get(cells, f"R differs in {cells} cells")


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
