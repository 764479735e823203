"""Reruns a random sample of exported runs and compares their R, bit for bit.

python -m sdsl.verify --sample 20
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sdsl import experiment
from sdsl.core.thin import dense, of_replica
from sdsl.errors import UserError
from sdsl.report.runs import export


@dataclass(frozen=True)
class Rerun:
    """An exported run beside its rerun."""

    name: str
    largest: float  # difference between two cells of R; infinite if the shapes differ
    acc_online: float  # exported
    other_data: bool  # the rows here are not those that the exported run saw

    @property
    def same(self) -> bool:
        return self.largest == 0


def rerun(folder: Path, count: int, seed: int) -> Iterator[Rerun]:
    """`count` runs of an export, drawn by `seed`, one after the other."""
    results = export.read(folder)
    known = results.frame[results.frame.group_key.isin([*results.configs])]
    if known.empty:
        raise UserError(
            f"{folder} holds no configs: it was exported by an older version. Rerun its sweeps and "
            "export them with `python -m sdsl.report --export FOLDER`."
        )
    for run_id in random.Random(seed).sample(sorted(known.index), min(count, len(known))):
        run = known.loc[run_id]
        setup = experiment.setup(results.configs[run.group_key])
        table = experiment.load(setup)
        trial = experiment.run(setup, [int(run.seed)], table)
        yield Rerun(
            name=f"{run.variant} · {run.stream} · seed {run.seed}",
            largest=largest_difference(results.R[run_id], dense(of_replica(trial.outcome.R, 0))),
            acc_online=float(run.acc_online),
            other_data=table.sha256 != run.data_sha256,
        )


def largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    """0 only if the same cells are filled with the same bits."""
    if a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
        return float("inf")
    return float(np.nanmax(np.abs(a - b), initial=0.0))
