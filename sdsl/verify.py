"""Same config, same bits: rerun a recorded run and compare its R.

python -m sdsl.verify RUN_ID                     a run of an MLflow store
python -m sdsl.verify --sample 20 outputs/paper  random runs of an exported folder
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
)


@dataclass(frozen=True)
class Verdict:
    """The result of a rerun."""

    name: str
    cells: int | None  # of R that differ; None: it has another shape
    differences: list[str]  # in metrics, data, code, versions or machine
    view: str  # how to open the run

    @property
    def same(self) -> bool:
        return self.cells == 0


def verify(run_id: str, uri: str | None = None) -> Verdict:
    """Rerun a run of a store from its config."""
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
    key = {"run_key": run_key(group.group_key, seed)}
    tags, metrics = provenance.tags() | group.tags() | key, record.summary(outcome)
    was, measured = run.data.tags, numbers(run)
    differences = [
        f"{name}: was {was.get(name)}, is {tags[name]}"
        for name in WATCHED
        if was.get(name) != tags[name]
    ] + [
        f"{name}: was {measured.get(name)}, is {value}"
        for name, value in metrics.items()
        if name not in CLOCKS and measured.get(name) != value
    ]
    page = view(store_uri(uri), run.info.experiment_id, [run_id])
    cells = differing_cells(load_R(run_id, uri), outcome.R[1:])
    return Verdict(run.info.run_name, cells, differences, page)


def differing_cells(recorded: np.ndarray, R: np.ndarray) -> int | None:
    """Among the recorded cells that were evaluated; None if the shapes differ."""
    if recorded.shape != R.shape:
        return None
    return int((np.isfinite(recorded) & (recorded != R)).sum())


def current(config: Mapping[str, Any]) -> dict[str, Any]:
    """An exported config as conf/ composes it now; UserError if its method or settings are gone."""
    from sdsl.config import composed
    from sdsl.tracking.identity import flat, settings

    if "name" not in config["labeler"]:
        return dict(config)
    words = [f"method={config['method']['name']}", f"dataset={_option(config['dataset']['name'])}"]
    try:
        new = composed(*words, f"probe={config['probe']['name']}")
    except Exception as error:
        raise UserError(str(error).strip().splitlines()[-1]) from None
    for name, value in flat(settings(config)).items():
        section, *path = new, *name.split(".")
        while len(path) > 1:
            section = section.get(path.pop(0), {})
        if path[0] in section:
            section[path[0]] = value
        elif name not in RETIRED:
            raise UserError(f"The setting {name} no longer exists.")
    return new


def _option(name: str) -> str:
    """'archive/4cr' for the dataset named archive_4cr."""
    from sdsl.config.home import home

    folder = home() / "conf" / "dataset"
    for file in sorted(folder.rglob("*.yaml")):
        if f"\nname: {name}\n" in f"\n{file.read_text(encoding='utf-8')}\n":
            return file.relative_to(folder).with_suffix("").as_posix()
    raise UserError(f"There is no dataset named {name}.")


def sample(folder: Path, count: int, seed: int) -> int:
    """Reruns random runs of an export; the exit status."""
    from sdsl import experiment
    from sdsl.config import setup
    from sdsl.report import export

    same = total = left_out = 0
    for run in export.sample(folder, count, seed):
        try:
            made = setup(current(run.config))
        except UserError as error:
            left_out += 1
            print(f"     {run.name}: left out. {error}", flush=True)
            continue
        table = experiment.load(made)
        cells = differing_cells(run.R, experiment.run(made, run.seed, table).outcome.R[1:])
        total, same = total + 1, same + (cells == 0)
        data = "" if table.sha256 == run.data_sha256 else " (the data is not the same)"
        print(f"{total:3}  {run.name}: {about(cells)}{data}", flush=True)
    missing = f"; {left_out} left out" if left_out else ""
    print(f"{same} of {total} are the same, bit for bit{missing}.")
    return 0 if same == total else 1


def about(cells: int | None) -> str:
    if cells is None:
        return "R has another shape"
    return "R is the same, bit for bit" if cells == 0 else f"R differs in {cells} cells"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "python -m sdsl.verify", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("run", metavar="RUN_ID | FOLDER", nargs="?", default="outputs/paper")
    add("--sample", type=int, metavar="N", help="rerun N random runs of an exported folder")
    add("--seed", type=int, default=0, help="which random runs (default: %(default)s)")
    add("--uri", default=os.environ.get("MLFLOW_TRACKING_URI"), help="default: ./mlflow.db")
    args = parser.parse_args(words)
    try:
        if args.sample is not None:
            return sample(Path(args.run), args.sample, args.seed)
        verdict = verify(args.run, args.uri)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{verdict.name}: {about(verdict.cells)}.")
    print("\n  ".join(["Differences:", *(verdict.differences or ["none that is recorded"])]))
    print(verdict.view)
    return 0 if verdict.same else 1


if __name__ == "__main__":
    sys.exit(main())
