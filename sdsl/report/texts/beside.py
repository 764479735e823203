"""The generated parts that are not made of runs, but of files beside them in the export."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from sdsl.report.texts.facts import GAP, Facts, shown
from sdsl.report.texts.scores import grid
from sdsl.use import alarm_rates

RUNS = 100_000  # of the sum in sweeps/README.md
TRAINING = ["labelling", "training", "evaluation"]  # what is not counted there


def alarms(facts: Facts) -> str:
    """How often the alarms of a model in use are raised."""
    return _of(facts.folder / "alarms.csv", alarm_rates.markdown, "sdsl.use.alarm_rates")


def bench(facts: Facts) -> str:
    """The tables of the benchmark, as it wrote them."""
    return _of(facts.folder / "bench" / "table.md", Path.read_text, "sdsl.bench")


def batches(facts: Facts) -> str:
    """Accuracy in context by the rows in a batch: the mean of the streams."""
    return _of(facts.folder / "bench" / "context.csv", _batches, "sdsl.bench context")


def run_costs(facts: Facts) -> str:
    """What one run costs besides its training, and what a great many of them need."""
    return _of(facts.folder / "bench" / "store.json", _run_costs, "sdsl.bench store")


def _of(file: Path, text: Callable[[Path], str], command: str) -> str:
    return text(file) if file.exists() else f"Not measured: run `python -m {command}`."


def _batches(file: Path) -> str:
    mean = pd.read_csv(file).groupby(["mixed", "rows"]).accuracy.mean()
    sizes = sorted({rows for _, rows in mean.index})
    kinds = {False: "of one segment", True: "of two segments, mixed"}
    rows = [
        [name, *(shown(mean[kind, n]) if (kind, n) in mean.index else GAP for n in sizes)]
        for kind, name in kinds.items()
    ]
    return grid(["rows in a batch", *map(str, sizes)], rows)


def _run_costs(file: Path) -> str:
    saved = json.loads(file.read_text())
    *jobs, disk = (row["raw"] for row in saved["rows"])  # in a job of 1 seed, of 12 seeds
    parts = {
        "Hydra: compose and check, in the parent process": ["Hydra"],
        "load the data": ["data"],
        "MLflow: find, create, log (and, once, make the store)": ["MLflow"],
        "write `R.npy`, `R.csv`, `R.png`, `curves.csv`": ["artifacts"],
        "train and evaluate (ST)": TRAINING,
        "total, with the rest": list(jobs[0]),
    }
    rows = [
        [name, *(f"{sum(job[key] for key in keys):.2f} s" for job in jobs)]
        for name, keys in parts.items()
    ]
    rows.append(["database", "", f"{disk['database'] / 1e3:.0f} kB"])
    size = f"{disk['artifacts'] / 1e3:.0f} kB in {disk['files']:.0f} files"
    rows.append(["artifacts", "", size])
    alone, together = (
        RUNS * sum(s for key, s in job.items() if key not in TRAINING) / 3600 for job in jobs
    )
    made = saved["machine"]
    database, artifacts = (RUNS * disk[kind] / 1e9 for kind in ("database", "artifacts"))
    return (
        f"{grid(['per run', 'in a job of 1 seed', 'in a job of 12 seeds'], rows)}\n\n"
        f"Commit {made['git_sha'][:7]}, {made['date']}. So {RUNS:,} runs need "
        f"{database:.0f} GB of database, {artifacts:.0f} GB of artifacts in "
        f"{RUNS * disk['files']:,.0f} files "
        f"and, training aside, {together:.0f} core hours as jobs of 12 seeds ({alone:.0f} as jobs "
        "of one)."
    )


PARTS: dict[str, Callable[[Facts], str]] = {
    part.__name__: part for part in (alarms, bench, batches, run_costs)
}
