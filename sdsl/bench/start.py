"""What one waits for before anything happens: --help, and the first line of a default run."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sdsl.bench.rows import Row
from sdsl.bench.timing import Cost, median

TICK = os.sysconf("SC_CLK_TCK")
IMPORTS = "import torch, mlflow; print('done', flush=True)"


def measure(tiny: bool, out: Path) -> list[Row]:
    repeats = 1 if tiny else 3
    with tempfile.TemporaryDirectory() as folder:
        first_line([], folder)  # warms the disk up and makes the store
        waits = {
            "--help": (["--help"], 2),
            "default run, first line": ([], 6),
            "bare `import torch, mlflow`": (None, None),
        }
        costs: dict[str, list[Cost]] = {name: [] for name in waits}
        for _ in range(repeats):
            for name, (words, _limit) in waits.items():
                costs[name].append(first_line(words, folder))
    rows = []
    for name, (_, limit) in waits.items():
        cost = median(costs[name])
        met = None if limit is None else cost.cpu < limit
        target = f"{limit} s" if limit else ""
        rows.append(
            Row(name, f"{cost.cpu:.1f} s CPU ({cost.wall:.1f} s wall)", target, met, vars(cost))
        )
    return rows


def first_line(words: list[str] | None, folder: str) -> Cost:
    """Until the command's first line on either stream; then it is ended."""
    command = ["-m", "sdsl.run", *words] if words is not None else ["-c", IMPORTS]
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as child:
        assert child.stdout is not None  # it is a pipe
        line = child.stdout.readline()
        cost = Cost(_cpu(child.pid), time.perf_counter() - start)
        child.kill()
    assert line, f"{command} said nothing"
    return cost


def _cpu(pid: int) -> float:
    """CPU seconds of a process so far, as Linux counts them."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / TICK
