"""Loading and splitting all eight streams for five seeds in one process: seconds, peak memory."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sdsl.bench.rows import Row

SECONDS, MEGABYTES = 15, 1500
SEEDS = (0, 1, 2, 3, 4)


def measure(tiny: bool, out: Path) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for name in ("first time, nothing cached", "parsed files cached"):
            command = [sys.executable, "-m", "sdsl.bench.data", cache, *(["2"] if tiny else [])]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            rows.append(
                Row(
                    f"{found['streams']} streams x {len(SEEDS)} seeds, {name}",
                    f"{found['cpu']:.1f} s CPU ({found['wall']:.1f} s wall), {found['mb']:.0f} MB "
                    f"peak; {found['standing']}",
                    f"{SECONDS} s, {MEGABYTES} MB",
                    found["cpu"] < SECONDS and found["mb"] < MEGABYTES,
                    found,
                )
            )
    return rows


def worker(cache: str, count: int | None) -> dict[str, Any]:
    """Loads and cuts the streams, and keeps them all, as the worst case for memory."""
    from collections import Counter
    from dataclasses import replace

    from sdsl import experiment
    from sdsl.config.compose import composed
    from sdsl.config.home import home
    from sdsl.config.schema import setup

    names = sorted(path.stem for path in (home() / "conf" / "dataset").glob("*.yaml"))
    setups = [setup(composed(f"dataset={name}")) for name in reversed(names)][:count]
    setups = [replace(s, data=replace(s.data, cache=cache)) for s in setups]
    cpu, wall = time.process_time(), time.perf_counter()  # imports count as memory, not as time
    streams = [experiment.cut(s, experiment.load(s), SEEDS) for s in setups]
    found: dict[str, Any] = {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    standing = Counter(stream.table.standing for stream in streams)
    found["standing"] = ", ".join(f"{n} {name}" for name, n in sorted(standing.items()))
    return found | {"streams": len(streams)}


if __name__ == "__main__":
    print(json.dumps(worker(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else None)))
