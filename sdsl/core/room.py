"""Whether a network fits into memory, estimated before anything is made: W numbers, S replicas."""

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from sdsl.errors import UserError

COPIES = 8  # weights, teacher, gradients, two moments, the step's and the tester's copy, one spare
BYTES = 4  # of a float32


def weights(sizes: Sequence[int]) -> int:
    """How many numbers one network of these layer sizes has."""
    return sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(sizes))


def refuse_large_network(sizes: Sequence[int], replicas: int) -> None:
    """Refuses layer sizes (d, hidden..., C) that training could not hold in memory."""
    needed, there = COPIES * BYTES * weights(sizes) * replicas, available()
    if needed > there:
        hidden, seeds = list(sizes[1:-1]), "1 seed" if replicas == 1 else f"{replicas} seeds"
        raise UserError(
            f"learner.hidden={hidden}: with {sizes[0]} features, {sizes[-1]} classes and {seeds} "
            f"side by side, training needs about {gigabytes(needed)}, and {gigabytes(there)} are "
            "free. Lower the widths" + (", or set fuse=false." if replicas > 1 else ".")
        )


def gigabytes(count: float) -> str:
    return f"{count / 2**30:,.1f} GB"


def available() -> int:
    """Bytes of memory that this process may still take, by the system and by its container."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            found = int(line.split()[1]) * 1024
    most, used = _text("/sys/fs/cgroup/memory.max"), _text("/sys/fs/cgroup/memory.current")
    if most.strip().isdecimal() and used.strip().isdecimal():
        found = min(found, int(most) - int(used))
    return max(found, 0)


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
