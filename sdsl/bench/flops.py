"""How near training comes to this core's rate: the operations of its products, their time, its own.

Every matrix product of a run's labelling and learning is counted, 2 S n k m operations for one of
[S, n, k] and [S, k, m]: torch's by watching, those of compiled loops from what the loops are called
with (bench/products). Then such products alone are timed, same sizes, same layout, same library,
and set against the run: five seeds fused, one thread, CPU time. 100 % is a run of nothing else.
"""

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from sdsl import experiment
from sdsl.bench.method import BRIEF, SEEDS, STREAMS, CpuClock
from sdsl.bench.products import LOOPS, Product, Products, of_torch
from sdsl.bench.rows import Row
from sdsl.config.compose import composed
from sdsl.config.schema import Setup
from sdsl.core.clock import Clock
from sdsl.core.stream import Stream
from sdsl.experiment import one_thread

METHODS = ("ours", "pl_conf", "jt")
LEAST = 0.6  # of the rate
T, REPEATS = 2, 2
WHILE = 0.01  # seconds of one product, again and again
AT_ONCE = 16  # times between two looks at the clock
FACTORS = {  # product -> where its factors are among its arguments
    torch.ops.aten.mm.default: 0,
    torch.ops.aten.bmm.default: 0,
    torch.ops.aten.addmm.default: 1,
    torch.ops.aten.baddbmm.default: 1,
    torch.ops.aten.baddbmm_.default: 1,
}


@dataclass(frozen=True)
class Share:
    """A segment of five seeds, the fit on gold shared out among the segments."""

    flop: float
    seconds_at_rate: float
    seconds: float
    share: float

    def __str__(self) -> str:
        ms, rate = 1000 * self.seconds_at_rate, self.flop / self.seconds_at_rate / 1e9
        return (
            f"{self.flop / 1e9:.1f} Gflop, {ms:.0f} ms at {rate:.0f} Gflop/s, "
            f"{1000 * self.seconds:.0f} ms measured, {100 * self.share:.0f} %"
        )


def measure(tiny: bool, out: Path) -> list[Row]:
    if tiny:
        return [row("ours", {"twonorm": share("ours", "twonorm", 1, 1, SEEDS[:2], BRIEF)})]
    return [row(m, {s: share(m, s, T, REPEATS, SEEDS) for s in STREAMS}) for m in METHODS]


def row(method: str, found: dict[str, Share]) -> Row:
    """One method; every stream with its operations, the time at the rate and the measured one."""
    mean = statistics.mean(one.share for one in found.values())
    text = f"{100 * mean:.0f} %; " + "; ".join(f"{s}: {one}" for s, one in found.items())
    what = f"{method}, five seeds fused: share of the rate of its products, a segment"
    raw = {stream: vars(one) for stream, one in found.items()}
    met = all(one.share >= LEAST for one in found.values())
    return Row(what, text, f"{100 * LEAST:.0f} % on every stream", met, raw)


def share(
    method: str,
    dataset: str,
    T: int,
    repeats: int,
    seeds: Sequence[int],
    also: Sequence[str] = (),
) -> Share:
    """Of one method on the first T segments of one stream, products and run in turn."""
    words = f"method={method}", f"dataset={dataset}", f"stream.max_segments={T}", *also
    setup = experiment.setup(composed("eval.every=1000", *words))
    stream = experiment.cut(setup, experiment.load(setup), seeds)
    products = counted(setup, stream)
    rounds = [(seconds_of(products), run_seconds(setup, stream)) for _ in range(repeats)]
    at_rate, taken = (statistics.median(column) / T for column in zip(*rounds, strict=True))
    ratio = statistics.median(a / b for a, b in rounds)
    return Share(operations(products) / T, at_rate, taken, ratio)


def operations(products: Products) -> int:
    """2 S n k m for each."""
    return sum(2 * times * math.prod(one.left) * one.right[-1] for one, times in products.items())


def counted(setup: Setup, stream: Stream) -> Products:
    """The products of one run, evaluation left out."""
    counting = Counting()

    class CountingClock(Clock):
        @contextmanager
        def __call__(self, part: str) -> Iterator[None]:
            if part == "eval":
                yield
            else:
                with counting:
                    yield

    with patch("sdsl.core.adaptation.Clock", CountingClock), noted(counting):
        experiment.run_on(setup, stream)
    return counting.products


@contextmanager
def noted(counting: "Counting") -> Iterator[None]:
    """Compiled loops tell `counting` of their products, while it is on."""

    def telling(loop: Callable[..., Any], products_of: Callable[..., Products]) -> Any:
        def told(*args: Any) -> Any:
            if counting.on:
                counting.products += products_of(*args)
            return loop(*args)

        return told

    with ExitStack() as patches:
        for name, products_of in LOOPS.items():
            patches.enter_context(patch(name, telling(resolve_name(name), products_of)))
        yield


class Counting(TorchDispatchMode):
    """Notes sizes and strides of the factors of every product; also those of autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.products: Products = Counter()
        self.on = False

    def __enter__(self) -> "Counting":
        self.on = True
        return super().__enter__()

    def __exit__(self, *why: Any) -> None:
        self.on = False
        super().__exit__(*why)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in FACTORS:
            at = FACTORS[func]
            self.products[of_torch(*args[at : at + 2])] += 1
        return func(*args, **(kwargs or {}))


def run_seconds(setup: Setup, stream: Stream) -> float:
    """CPU seconds of labelling and learning."""
    with patch("sdsl.core.adaptation.Clock", CpuClock):
        experiment.run_on(setup, stream)
    return CpuClock.spent


def seconds_of(products: Products) -> float:
    """CPU seconds of all these products, one after the other, their factors in cache."""
    with one_thread(), torch.no_grad():
        return sum(times * seconds_of_one(one) for one, times in products.items())


def seconds_of_one(one: Product) -> float:
    again, calls = one.repeated(), 0
    again(1)  # compiles it
    start = time.process_time()
    while (spent := time.process_time() - start) < WHILE:
        again(AT_ONCE)  # a look at the clock is not part of the product
        calls += AT_ONCE
    return spent / calls
