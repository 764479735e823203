"""What one more run costs beside its training, and leaves on disk: jobs of one seed and of twelve.

The units of "100,000 runs" in sweeps/README.md: ST, whose training is nothing, on a new store.
"""

import tempfile
from pathlib import Path

from sdsl.bench.rows import Row
from sdsl.bench.shares import apart

SEEDS, TOGETHER = 24, 12
LIMIT = 300  # MB that a sweep of 440 runs may leave


def measure(tiny: bool, out: Path) -> list[Row]:
    """Time on Satimage, a middling stream; bytes on UG_2C_2D, the longest."""
    seeds, together = (2, 2) if tiny else (SEEDS, TOGETHER)
    short = ["stream.max_segments=2"] if tiny else []
    rows = []
    for k in (1, together):
        jobs = [st(i, k, "dataset=satimage", *short) for i in range(0, seeds, k)]
        with tempfile.TemporaryDirectory() as folder:
            spent = {part: s / seeds for part, s in apart(jobs, folder).items()}
        del spent["imports"]  # once a process, not a run
        parts = sorted(spent.items(), key=lambda pair: -pair[1])
        found = ", ".join(f"{part} {1000 * s:.0f}" for part, s in parts if s >= 0.0005)
        total = f"{1000 * sum(spent.values()):.0f} ms CPU: {found}"
        rows.append(Row(f"a run of ST in a job of {k}", total, raw=spent))
    return [*rows, disk(together, short)]


def disk(seeds: int, short: list[str]) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        apart([st(0, 1, *short)], folder)
        before = sizes(folder)  # the schema of a new database, and one run
        apart([st(1, seeds, *short)], folder)
        after = sizes(folder)
    database, artifacts, files = ((b - a) / seeds for a, b in zip(before, after, strict=True))
    mb = 440 * (database + artifacts) / 1e6
    return Row(
        "disk a run on UG_2C_2D",
        f"database {database / 1e3:.0f} kB, artifacts {artifacts / 1e3:.0f} kB in {files:.0f} files"
        f"; 440 runs {mb:.0f} MB",
        f"440 runs within {LIMIT} MB",
        mb <= LIMIT,
        {"database": database, "artifacts": artifacts, "files": files},
    )


def st(first: int, n: int, *words: str) -> list[str]:
    """The overrides of a job of n seeds."""
    return ["method=st", f"seed.values={list(range(first, first + n))}", *words]


def sizes(folder: str | Path) -> tuple[int, int, int]:
    """Bytes of the database, bytes of all other files, and their number."""
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    database = [path for path in files if path.name.startswith("mlflow.db")]
    others = [path for path in files if path not in database]
    return sum(map(space, database)), sum(map(space, others)), len(others)


def space(path: Path) -> int:
    """What the disk gives to a file: more than its length."""
    return 512 * path.stat().st_blocks
