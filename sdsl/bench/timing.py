"""Interleaved repetitions and their medians: what runs side by side meets the same noise.

cpu is time.process_time and that of ended children, which a busy machine hardly moves; wall is
what a person waits.
"""

import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sdsl.tracking import provenance


@dataclass(frozen=True)
class Cost:
    """Seconds, medians over the repetitions."""

    cpu: float
    wall: float


class Stopwatch:
    """with Stopwatch() as watch: ...; then watch.cost."""

    def __enter__(self) -> "Stopwatch":
        self.start = cpu_seconds(), time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        cpu, wall = self.start
        self.cost = Cost(cpu_seconds() - cpu, time.perf_counter() - wall)


def cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def median(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(c.cpu for c in costs),
        statistics.median(c.wall for c in costs),
    )


def compare(contenders: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Cost]:
    """Each contender once a round, in turn; the first round warms up and does not count.

    With no repeats it is all there is: that it works, and no more.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _ in range(repeats + 1):
        for name, run in contenders.items():
            with Stopwatch() as watch:
                run()
            costs[name].append(watch.cost)
    return {name: median(found[1:] or found) for name, found in costs.items()}


def machine() -> dict[str, str]:
    """Where and when: part of every saved result."""
    tags = provenance.tags()
    return {
        "cpu": tags["cpu"],
        "cores": tags["cores"],
        "system": platform.platform(terse=True),
        **{name: tags[name] for name in ("python", "torch", "numpy", "mlflow", "git_sha", "dirty")},
        "date": time.strftime("%Y-%m-%d %H:%M"),
    }


def load() -> float:
    """Processes that want a core, over the last minute: above the number of cores, wall lies."""
    return round(os.getloadavg()[0], 1)
