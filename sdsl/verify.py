"""Same config, same bits: python -m sdsl.verify RUN_ID reruns a logged run and compares its R.

Where the run was also tested in context, its R_context, too. It also checks what the run says
about itself: its key, its metrics and the SHA-256 of its files.

python -m sdsl.verify --sample 20 reruns 20 random runs of an exported folder, by default of
the committed results.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sdsl.errors import UserError
from sdsl.output import guarded

if TYPE_CHECKING:  # torch and MLflow take seconds to load: --help must not pay for them
    from sdsl.config.schema import Setup
    from sdsl.core.engine import Outcome
    from sdsl.tracking.logged_run import LoggedRun
    from sdsl.tracking.run_summary import Results

WATCHED = ("data_source", "data_sha256", "stream_sha256", "code_sha256", "git_sha", "dirty")
MACHINE = ("torch", "numpy", "numba", "scipy", "sklearn", "python", "cpu")
CLOCKS = ("seconds_train", "seconds_eval")  # differ from run to run


@dataclass(frozen=True)
class Verdict:
    """What a rerun shows."""

    name: str
    cells: int | None  # of R and R_context that differ; None: one has another shape
    false_statements: list[str]  # what the run says about itself and is not so
    differences: list[str]  # in data, code, versions or machine
    page: str  # how to look at the run

    @property
    def same(self) -> bool:
        return self.cells == 0 and not self.false_statements


def verify(run_id: str, uri: str | None = None) -> Verdict:
    """Rerun a logged run from its stored config."""
    from sdsl import experiment
    from sdsl.tracking import identity, logged_run, provenance, run_summary

    logged = logged_run.read(run_id, uri)
    setup = experiment.setup(logged.config)
    table = experiment.load(setup)
    trial = experiment.run(setup, table=table)
    results = run_summary.summarise(trial.outcome, trial.probed, 0, trial.stream.table.classes)
    false_statements = [
        *_changed_files(logged),
        *_wrong_key(logged, setup),
        *_wrong_metrics(logged.metrics, _as_logged(results)),
    ]
    now = provenance.tags() | identity.describe(setup, table).tags()
    differences = [
        f"{key}: was {logged.tags.get(key)}, is {now[key]}"
        for key in (*WATCHED, *MACHINE)
        if logged.tags.get(key) != now[key]
    ]
    cells = _cells(logged, trial.outcome)
    return Verdict(logged.name, cells, false_statements, differences, logged.page)


def _cells(logged: "LoggedRun", outcome: "Outcome") -> int | None:
    """Of R and, where the run has one, of R_context."""
    from sdsl.core.thin import of_replica

    counts = [differing_cells(logged.R, of_replica(outcome.R, 0))]
    if logged.R_context is not None:
        again = outcome.R_context
        counts.append(
            None if again is None else differing_cells(logged.R_context, of_replica(again, 0))
        )
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def differing_cells(logged: np.ndarray, R: np.ndarray) -> int | None:
    """How many cells differ in any bit; None if the shapes differ."""
    if logged.shape != R.shape or logged.dtype != R.dtype:
        return None
    kind = np.uint64 if R.dtype.names is None else np.dtype(f"V{R.dtype.itemsize}")
    bits = [np.ascontiguousarray(matrix).view(kind) for matrix in (logged, R)]
    return int((bits[0] != bits[1]).sum())


def _changed_files(logged: "LoggedRun") -> list[str]:
    return [
        f"{tag}: the run says {logged.tags.get(tag)}, its file has {digest}"
        for tag, digest in logged.digests.items()
        if logged.tags.get(tag) != digest
    ]


def _wrong_key(logged: "LoggedRun", setup: "Setup") -> list[str]:
    """The key that the stored config gives with the data and the code that the run names."""
    from sdsl.tracking import identity

    stream, code = (logged.tags.get(name, "none") for name in ("stream_sha256", "code_sha256"))
    key = identity.run_key(identity.group_key(setup, stream, code), setup.seeds[0])
    said = logged.tags.get("run_key")
    return [] if key == said else [f"run_key: the run says {said}, its config and tags give {key}"]


def _wrong_metrics(logged: Mapping[str, float], rerun: Mapping[str, float]) -> list[str]:
    return [
        f"{name}: the run says {logged.get(name)}, its rerun gives {value}"
        for name, value in rerun.items()
        if name not in CLOCKS and logged.get(name) != value
    ]


def _as_logged(results: "Results") -> dict[str, float]:
    """Metrics as MLflow shows them: of a curve, its last point."""
    known = {name: c.values[np.isfinite(c.values)] for name, c in results.curves.items()}
    last = {name: float(values[-1]) for name, values in known.items() if len(values)}
    return last | results.metrics


@guarded()
def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sdsl.verify", description=__doc__)
    add = parser.add_argument
    add("run_id", metavar="RUN_ID", nargs="?", help="the 32 digits that MLflow shows")
    add(
        "--uri",
        default=os.environ.get("MLFLOW_TRACKING_URI"),
        help="the MLflow store (default: $MLFLOW_TRACKING_URI, else ./mlflow.db)",
    )
    add("--sample", type=int, metavar="N", help="rerun N random runs of an exported folder")
    add(
        "--from",
        dest="folder",
        type=Path,
        default=Path("outputs/paper"),
        help="the exported folder (default: %(default)s)",
    )
    add("--seed", type=int, default=0, help="which random runs (default: %(default)s)")
    args = parser.parse_args(words)
    if (args.run_id is None) == (args.sample is None):
        parser.error("give either a RUN_ID or --sample N")
    try:
        if args.sample is not None:
            return _sample(args.folder, args.sample, args.seed)
        return _one(args.run_id, args.uri)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2


def _sample(folder: Path, count: int, seed: int) -> int:
    from sdsl.report.sample import rerun

    reruns = []
    for one in rerun(folder, count, seed):
        reruns.append(one)
        data = " (with other data: see `python -m sdsl.datasets`)" if one.other_data else ""
        found = "same bits" if one.same else f"R differs by up to {one.largest:.3g}"
        print(f"{len(reruns):3}  {one.name}: {found}{data}", flush=True)
    same = sum(one.same for one in reruns)
    largest = max(one.largest for one in reruns)
    print(f"{same} of {len(reruns)} are bit-identical; the largest difference is {largest:.3g}.")
    return 0 if same == len(reruns) else 1


def _one(run_id: str, uri: str | None) -> int:
    verdict = verify(run_id, uri)
    print(f"{verdict.name}: {_about_R(verdict.cells)}")
    if verdict.false_statements:
        print("What the run says about itself and is not so:")
        print("\n".join(f"  {line}" for line in verdict.false_statements))
    besides = " besides" if verdict.cells == 0 else ""
    print(f"What differs{besides}: " + ("" if verdict.differences else "nothing that is recorded."))
    for line in verdict.differences:
        print(f"  {line}")
    print(verdict.page)
    return 0 if verdict.same else 1


def _about_R(cells: int | None) -> str:
    if cells is None:
        return "R has another shape."
    return "R is the same, bit for bit." if cells == 0 else f"R differs in {cells} cells."


if __name__ == "__main__":
    sys.exit(main())
