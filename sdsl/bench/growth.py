"""Time and memory as the stream grows: T, features d, rows a segment, seeds S; cost along t.

Our method with short phases (10 steps), so that what the engine adds is not hidden by training.
Every case runs in a fork of its own: its peak memory is what it adds to the imports.
"""

import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from sdsl import experiment
from sdsl.bench.rows import Row
from sdsl.bench.streams import drifting, setup_for
from sdsl.core.checkpoint import Checkpoint, Held

BASE = {"T": 100, "d": 2, "rows": 200, "S": 1}
SHORT = (
    "labeler.fit.steps=10",
    "labeler.feedback.steps=1",
    "replay.steps=10",
    "learner.pretrain.steps=10",
)
THIN = ("eval.every=100", "eval.columns=100")
LONG = 10_000
CASES = {"T": (100, 1000), "d": (2, 20, 200), "rows": (200, 1000, 5000), "S": (1, 5, 20, 50)}
SMALL = {"T": (4, 8), "d": (2, 4), "rows": (100, 200), "S": (1, 2)}


def measure(tiny: bool, out: Path) -> list[Row]:
    base = BASE | ({"T": 4, "rows": 100} if tiny else {})
    rows = []
    for axis, values in (SMALL if tiny else CASES).items():
        found = {str(v): case(base | {axis: v}) for v in values}
        if axis == "T":
            found[f"{values[-1]}, thinned R"] = case(base | {axis: values[-1]}, THIN)
        ms = ", ".join(f"{k}: {f['ms']:.1f}" for k, f in found.items())
        mb = ", ".join(f"{k}: {f['mb']:.0f}" for k, f in found.items())
        rows.append(Row(f"{axis}, CPU ms a segment", ms, raw=found))
        rows.append(Row(f"{axis}, peak MB over the imports", mb))
        if axis == "T":
            # A clock that changes its pace in mid-run looks like growth: the median of three runs.
            runs = [case(base | {axis: values[-1]}, THIN)["late"] for _ in range(2)]
            late = statistics.median([found[f"{values[-1]}, thinned R"]["late"], *runs])
            name = f"a segment late in T={values[-1]} against one early, R thinned"
            rows.append(Row(name, f"{late:.2f}", "flat: 0.8 to 1.25", 0.8 <= late <= 1.25))
    rows.append(long_stream(base | {"T": 40 if tiny else LONG}))
    rows.append(checkpoints(base | {"T": 10 if tiny else 200}))
    return rows


def long_stream(sizes: dict[str, int]) -> Row:
    """R is thinned as it is by default beyond 1,000 segments: memory is linear in T."""
    found = case(sizes)
    text = (
        f"{found['mb']:.0f} MB over the imports, {found['ms']:.1f} CPU ms a segment, late against"
    )
    name = f"T={sizes['T']:,}, eval.every and eval.columns as shipped"
    dense = f"a dense R alone: {8 * (sizes['T'] + 1) * sizes['T'] / 2**20:,.0f} MB"
    return Row(name, f"{text} early {found['late']:.2f} ({dense})", raw=found)


def checkpoints(sizes: dict[str, int]) -> Row:
    """What writing the state of a run costs at one write a second."""
    table = drifting(sizes["T"], sizes["rows"], sizes["d"])
    setup = setup_for("method=ours", rows=sizes["rows"])
    stream = experiment.cut(setup, table, range(5))
    with tempfile.TemporaryDirectory() as folder:
        kept = Timed(Path(folder, "run.sdsl"), "bench", 1.0)
        start = time.perf_counter()
        experiment.run_on(setup, stream, checkpoint=kept)
        whole = time.perf_counter() - start
    one = 1000 * statistics.median(kept.costs) if kept.costs else 0.0
    share, seconds = 100 * sum(kept.costs) / whole, setup.config["checkpoint"]["seconds"]
    found = f"{len(kept.costs)} in {whole:.0f} s, {one:.0f} ms each: {share:.2f} %"
    found += f"; at one in {seconds} s {share / seconds:.3f} %"
    name = f"checkpoints, one a second, five seeds of ours, T={sizes['T']}"
    return Row(name, found, "under 2 % of a run", share < 2, {"costs": kept.costs, "run": whole})


class Timed(Checkpoint):
    """Notes how long each write takes."""

    def __init__(self, file: Path, key: str, seconds: float):
        super().__init__(file, key, seconds)
        self.costs: list[float] = []

    def keep(self, t: int, held: Callable[[], Held]) -> None:
        start, due = time.perf_counter(), self.next
        super().keep(t, held)
        if self.next != due:
            self.costs.append(time.perf_counter() - start)


def case(sizes: dict[str, int], overrides: tuple[str, ...] = ()) -> dict[str, float]:
    """CPU ms a segment, late against early segments, and peak MB, from a fork."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    torch.set_num_threads(1)  # a fork of a threaded torch may hang
    child = multiprocessing.get_context("fork").Process(
        target=_case, args=(sizes, overrides, theirs)
    )
    child.start()
    theirs.close()
    try:
        return ours.recv()
    finally:
        child.join()


def _case(sizes: dict[str, int], overrides: tuple[str, ...], pipe: Connection) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    table = drifting(sizes["T"], sizes["rows"], sizes["d"])
    setup = setup_for("method=ours", *SHORT, *overrides, rows=sizes["rows"])
    ends: list[float] = []
    seeds = range(sizes["S"])
    experiment.run(setup, seeds, table, lambda t, online: ends.append(time.process_time()))
    steps = [b - a for a, b in pairwise(ends)]
    tenth = max(1, len(steps) // 10)
    early, late = statistics.median(steps[tenth : 2 * tenth]), statistics.median(steps[-tenth:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mean = 1000 * (ends[-1] - ends[0]) / len(steps)
    pipe.send({"ms": mean, "late": late / early, "mb": (peak - before) / 1024})
