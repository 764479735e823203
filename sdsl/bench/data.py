"""Loading and splitting all eight streams for five seeds in one process: seconds, peak memory."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def worker(cache: str, count: int | None) -> dict:
    """All streams are kept, as the worst case; imports are memory but not time."""
    from collections import Counter

    from omegaconf import OmegaConf

    from sdsl import datasets
    from sdsl.config.build import build
    from sdsl.core.stream import Stream, StreamConfig
    from sdsl.datasets.__main__ import conf_folder

    sections = [OmegaConf.to_container(OmegaConf.load(p)) for p in conf_folder().glob("*.yaml")]
    sections = sorted(sections, key=lambda s: s["name"], reverse=True)[:count]
    data = {"root": os.environ.get("SDSL_DATA"), "download": False, "cache": cache}
    how = build(StreamConfig, {}, "stream")
    cpu, wall = time.process_time(), time.perf_counter()
    streams = [Stream(datasets.load(s, data), s, how, SEEDS) for s in sections]
    found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    found["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    standing = Counter(stream.table.standing for stream in streams)
    found["standing"] = ", ".join(f"{n} {name}" for name, n in sorted(standing.items()))
    return found | {"streams": len(streams)}


if __name__ == "__main__":
    print(json.dumps(worker(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else None)))
