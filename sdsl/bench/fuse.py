"""Five seeds trained side by side against five single runs of the same code, bits compared."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from sdsl import experiment
from sdsl.bench.rows import Row
from sdsl.bench.streams import drifting, setup_for
from sdsl.bench.timing import Cost, compare
from sdsl.core.engine import Outcome
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.core.thin import of_replica
from sdsl.experiment import one_thread

SEEDS = (0, 1, 2, 3, 4)
# Whole runs, evaluation included; at batch 64 every set of rows gives 64 to an update.
RUNS = {
    "PL-Conf, batch 64": ["method=pl_conf", "replay.fit={steps: 100, batch: 64}"],
    "ours as shipped": ["method=ours"],
}


def measure(tiny: bool, out: Path) -> list[Row]:
    rows = updates(20 if tiny else 400, 1 if tiny else 5)
    short = ["learner.pretrain.steps=5"] if tiny else []
    rows += [
        whole(*one, short, T=2 if tiny else 4, repeats=1 if tiny else 3) for one in RUNS.items()
    ]
    if tiny:
        return [*rows, commands(T=1, seeds=SEEDS[:2], repeats=0)]
    return [*rows, commands(T=20, seeds=SEEDS, repeats=2)]


def updates(steps: int, repeats: int) -> list[Row]:
    """Training alone: width 100, batch 64, SGD with momentum."""
    table = drifting(1)
    X = torch.from_numpy(table.X).expand(len(SEEDS), -1, -1)
    y = torch.from_numpy(table.y).expand(len(SEEDS), -1)
    how = setup_for(f"learner.pretrain={{steps: {steps}, batch: 64}}").method.pretrain

    def fit(seeds: tuple[int, ...]) -> list[torch.Tensor]:
        learner = Learner((2, 100, 100, 2), seeds)
        learner.fit(how, [Rows.full(X[: len(seeds)], y[: len(seeds)])], Draws(seeds, "batches"))
        return learner.copy()

    with one_thread():
        alone = [fit((seed,)) for seed in SEEDS]
        fused = fit(SEEDS)
        same = all(
            torch.equal(layer[s], alone[s][i][0])
            for i, layer in enumerate(fused)
            for s in range(len(SEEDS))
        )
        costs = compare(
            {"fused": lambda: fit(SEEDS), "single": lambda: [fit((seed,)) for seed in SEEDS]},
            repeats,
        )
    return [row("updates, width 100, batch 64", costs, same)]


def whole(name: str, overrides: list[str], also: list[str], T: int, repeats: int) -> Row:
    table, setup = drifting(T), setup_for(*overrides, *also)

    def run(seeds: tuple[int, ...]) -> Outcome:
        return experiment.run(setup, seeds, table).outcome

    fused, alone = run(SEEDS), [run((seed,)) for seed in SEEDS]
    same = all(
        of_replica(fused.R, s).tobytes() == of_replica(one.R, 0).tobytes()
        and all(
            torch.equal(a[s], b[0])
            for a, b in zip(fused.learner.theta, one.learner.theta, strict=True)
        )
        for s, one in enumerate(alone)
    )
    costs = compare(
        {"fused": lambda: run(SEEDS), "single": lambda: [run((seed,)) for seed in SEEDS]}, repeats
    )
    return row(f"whole run, {name}, T={T}", costs, same)


def commands(T: int, seeds: tuple[int, ...], repeats: int) -> Row:
    """What a person types: a command a seed, or one for all; start, data, R and MLflow included."""
    words = [sys.executable, "-m", "sdsl.run", "force=true", f"stream.max_segments={T}"]
    with tempfile.TemporaryDirectory() as folder:

        def run(where: str, *commands: Sequence[int]) -> None:
            home = Path(folder, where)
            home.mkdir(exist_ok=True)
            for values in commands:
                line = [*words, f"seed.values={list(values)}"]
                subprocess.run(line, cwd=home, check=True, capture_output=True)

        fused, single = partial(run, "fused", seeds), partial(run, "single", *zip(seeds))
        costs = compare({"fused": fused, "single": single}, repeats)
        R = [sorted(f.read_bytes() for f in Path(folder, w).rglob("R.npy")) for w in costs]
    name = f"`python -m sdsl.run` (ours, ug_2c_2d) to T={T}, start and tracking included"
    return row(name, costs, R[0] == R[1] != [])


def row(name: str, costs: dict[str, Cost], same: bool) -> Row:
    cpu = costs["single"].cpu / costs["fused"].cpu
    wall = costs["single"].wall / costs["fused"].wall
    bits = "bits equal" if same else "BITS DIFFER"
    return Row(
        f"five seeds fused, {name}",
        f"{cpu:.2f}x (wall {wall:.2f}x), {bits}",
        "bits equal",
        same,
        {"cpu_ratio": cpu, "wall_ratio": wall, "same_bits": same}
        | {k: vars(c) for k, c in costs.items()},
    )
