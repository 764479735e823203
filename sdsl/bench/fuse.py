"""Five seeds trained side by side against five single runs of the same code, bits compared."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

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


class Whole(NamedTuple):
    """A whole run that is timed fused and alone."""

    name: str
    overrides: list[str]
    target: float | None  # how many times faster fused seeds have to be


SEEDS = (0, 1, 2, 3, 4)
LARGE = 1000  # the side of a product that shows what the core can do
# Whole runs, evaluation included; at batch 64 every set of rows gives 64 to an update.
RUNS = [  # (what it is, overrides, the ratio that was promised)
    Whole("PL-Conf, batch 64", ["method=pl_conf", "replay.fit={steps: 100, batch: 64}"], 3),
    Whole("ours as shipped", ["method=ours"], None),
]


def measure(tiny: bool, out: Path) -> list[Row]:
    rows = updates(20 if tiny else 400, 1 if tiny else 5)
    short = ["learner.pretrain.steps=5"] if tiny else []
    rows += [whole(one, short, T=2 if tiny else 4, repeats=1 if tiny else 3) for one in RUNS]
    if tiny:
        return [*rows, commands(T=1, seeds=SEEDS[:2], repeats=0)]
    return [*rows, commands(T=20, seeds=SEEDS, repeats=2)]


def updates(steps: int, repeats: int) -> list[Row]:
    """Training alone: width 100, batch 64, SGD with momentum; and the most that fusing can save."""
    table = drifting(1)
    X = torch.from_numpy(table.X).expand(len(SEEDS), -1, -1)
    y = torch.from_numpy(table.y).expand(len(SEEDS), -1)
    how = setup_for(f"learner.pretrain={{steps: {steps}, batch: 64}}").method.pretrain
    large = torch.ones(LARGE, LARGE)

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
            {
                "fused": lambda: fit(SEEDS),
                "single": lambda: [fit((seed,)) for seed in SEEDS],
                "products fused": lambda: products(SEEDS, steps),
                "products single": lambda: apart(steps),
                "large product": lambda: torch.mm(large, large),
            },
            repeats,
        )
    return [row("updates, width 100, batch 64", costs, same, 3), bound(costs, steps)]


def products(seeds: tuple[int, ...], steps: int) -> None:
    """The widest layer's three matrix products, which five seeds need five times, fused or not."""
    h, W, g = (torch.ones(len(seeds), *shape) for shape in ((64, 100), (100, 100), (64, 100)))
    for _ in range(steps):
        torch.bmm(h, W), torch.bmm(g, W.mT), torch.bmm(h.mT, g)


def apart(steps: int) -> None:
    for seed in SEEDS:
        products((seed,), steps)


def bound(costs: dict[str, Cost], steps: int) -> Row:
    """If all of an update but those products cost five seeds no more than one."""
    cpu = {name: cost.cpu for name, cost in costs.items()}
    gain = cpu["products single"] / cpu["products fused"]
    rate = 3 * 2 * 64 * 100 * 100 * len(SEEDS) * steps / cpu["products fused"] / 1e9
    peak = 2 * LARGE**3 / cpu["large product"] / 1e9
    rest = (cpu["single"] - cpu["products single"]) / len(SEEDS)  # of one update, paid once
    most = cpu["single"] / (cpu["products fused"] + rest)
    return Row(
        "the same, if five seeds paid once for all but their matrix products",
        f"{most:.2f}x; the products gain {gain:.2f}x: they run at {rate:.0f} Gflop/s, "
        f"one of {LARGE} x {LARGE} at {peak:.0f}",
        raw={"cpu_ratio": most, "products_ratio": gain, "gflops": rate, "gflops_large": peak},
    )


def whole(one: Whole, also: list[str], T: int, repeats: int) -> Row:
    table, setup = drifting(T), setup_for(*one.overrides, *also)

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
    return row(f"whole run, {one.name}, T={T}", costs, same, one.target)


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
    return row(name, costs, R[0] == R[1] != [], None)


def row(name: str, costs: dict[str, Cost], same: bool, target: float | None) -> Row:
    cpu = costs["single"].cpu / costs["fused"].cpu
    wall = costs["single"].wall / costs["fused"].wall
    bits = "bits equal" if same else "BITS DIFFER"
    return Row(
        f"five seeds fused, {name}",
        f"{cpu:.2f}x (wall {wall:.2f}x), {bits}",
        f"{target}x, bits equal" if target else "bits equal",
        same and cpu >= (target or 0),
        {"cpu_ratio": cpu, "wall_ratio": wall, "same_bits": same}
        | {k: vars(c) for k, c in costs.items()},
    )
