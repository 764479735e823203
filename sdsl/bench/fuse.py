"""Five seeds trained side by side against five single runs of the same code, bits compared."""

from pathlib import Path

import torch

from sdsl import experiment
from sdsl.bench.results import Row
from sdsl.bench.streams import drifting, on
from sdsl.bench.timing import compare
from sdsl.learner import Learner, Training
from sdsl.replica import Draws, Rows

SEEDS = (0, 1, 2, 3, 4)
# Whole runs, evaluation included; at batch 64 every set of rows gives 64 to an update.
RUNS = {
    "whole run, PL-Conf, batch 64": ["method=pl_conf", "replay.fit={steps: 100, batch: 64}"],
    "whole run, ours as shipped": ["method=ours"],
}


def measure(tiny: bool, out: Path) -> list[Row]:
    rows = [updates(20 if tiny else 400, 1 if tiny else 5), products(20 if tiny else 2000)]
    for name, overrides in RUNS.items():
        overrides = [*overrides, *(["learner.pretrain.steps=5"] if tiny else [])]
        rows.append(whole(name, overrides, 2 if tiny else 4, 1 if tiny else 3))
    return rows


def updates(steps: int, repeats: int) -> Row:
    """Training alone: width 100, batch 64, SGD with momentum."""
    table, _ = drifting(1)
    X = torch.from_numpy(table.X).expand(len(SEEDS), -1, -1)
    y = torch.from_numpy(table.y).expand(len(SEEDS), -1)
    how = Training(steps=steps, batch=64)

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
    return row("updates, width 100, batch 64", costs, same, 3)


def products(times: int) -> Row:
    """The widest layer's three matrix products, which five seeds need five times, fused or not."""
    h, W, g = (torch.randn(len(SEEDS), *shape) for shape in ((64, 100), (100, 100), (64, 100)))

    def multiply(h, W, g) -> None:
        for _ in range(times):
            torch.bmm(h, W), torch.bmm(g, W.mT), torch.bmm(h.mT, g)

    def single() -> None:
        for s in range(len(SEEDS)):
            multiply(*(x[s : s + 1] for x in (h, W, g)))

    with one_thread():
        costs = compare({"fused": lambda: multiply(h, W, g), "single": single}, 3)
    ratio = costs["single"].cpu / costs["fused"].cpu
    rate = 3 * 2 * 64 * 100 * 100 * len(SEEDS) * times / costs["fused"].cpu / 1e9
    share = f"{rate:.0f} Gflop/s on one core"
    return Row("the matrix products alone", f"{ratio:.2f}x, {share}", raw={"cpu_ratio": ratio})


def whole(name: str, overrides: list[str], T: int, repeats: int) -> Row:
    table, dataset = drifting(T)
    config = on(dataset, overrides)

    def run(seeds: tuple[int, ...]):
        return experiment.run(config, seeds, table)[1]

    fused, alone = run(SEEDS), [run((seed,)) for seed in SEEDS]
    same = all(
        fused.R[s].tobytes() == one.R[0].tobytes()
        and all(
            torch.equal(a[s], b[0])
            for a, b in zip(fused.learner.theta, one.learner.theta, strict=True)
        )
        for s, one in enumerate(alone)
    )
    costs = compare(
        {"fused": lambda: run(SEEDS), "single": lambda: [run((seed,)) for seed in SEEDS]}, repeats
    )
    return row(f"{name}, T={T}", costs, same, 3 if "batch 64" in name else None)


def row(name: str, costs: dict, same: bool, target: float | None) -> Row:
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


class one_thread:
    """Like a run: one torch thread."""

    def __enter__(self) -> None:
        self.before = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *error) -> None:
        torch.set_num_threads(self.before)
