"""Against Avalanche's replay and CapyMOA's experience replay: one drifting stream, net and R.

One pass over every segment with true labels, 64 new and 64 stored rows an update, 100 rows stored,
every test part after every segment. Ours goes through MLflow too; imports count for nobody.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import numpy as np

from sdsl import experiment
from sdsl.bench.rows import Row
from sdsl.bench.streams import drifting, setup_for
from sdsl.bench.timing import Cost, Stopwatch, median
from sdsl.config.schema import Setup
from sdsl.core.adaptation import first_scaler
from sdsl.core.table import Table
from sdsl.errors import UserError
from sdsl.launch import job
from sdsl.launch.screen import Quiet

PEERS = {"Avalanche 0.6.0": "avalanche", "CapyMOA 0.15.1": "capymoa"}
# Without their own requirements: torch stays the one we measure, and no CUDA comes along.
NO_DEPS = ["avalanche-lib==0.6.0", "capymoa==0.15.1", "torchvision==0.28.0"]
ENV = Path(__file__).parent / "peer_env"
OURS = (
    "tracking={experiment: bench, uri: null, model: false}",
    "force=true",
    "method=oracle_labels",
    "replay=retrain",
    "replay.gold=0",
    "lookback.select=random",
    "learner.pretrain.steps=11",
)


def python(out: Path) -> Path:
    return out.absolute() / "peers-venv" / "bin" / "python"


def install(out: Path) -> None:
    """The peers' own environment; some hundred megabytes."""
    folder = python(out).parents[1]
    venv.create(folder, with_pip=True)
    pip = [str(python(out)), "-m", "pip", "install", "--no-compile"]
    for words in (["-r", str(ENV / "requirements.txt")], ["--no-deps", *NO_DEPS]):
        if subprocess.run([*pip, *words]).returncode:
            raise UserError(f"pip could not install the peers into {folder}; its words are above.")


def measure(tiny: bool, out: Path) -> list[Row]:
    T, repeats = (2, 1) if tiny else (100, 3)
    table, out = drifting(T), out.absolute()  # the folder changes below
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "stream.npz")
        steps = write(file, table)
        setup = setup_for(*OURS, f"replay.fit.steps={steps}")
        warm_up = setup_for(*OURS, "stream.max_segments=1")
        costs: dict[str, list[Cost]] = {"ours": []}
        accuracy, absent = {}, {}
        # Ours and the bare loop around every peer, so that all meet the same noise.
        with chdir(folder):
            ours(warm_up, table)
            for name, which in {**PEERS, "bare loop": "bare"}.items():
                for _ in range(repeats):
                    cost, accuracy["ours"] = ours(setup, table)
                    costs["ours"].append(cost)
                program = sys.executable if which == "bare" else str(python(out))
                for _ in range(repeats if which == "bare" else 1):
                    found = worker(program, which, file)
                    if isinstance(found, str):
                        absent[name] = found
                        break
                    costs.setdefault(name, []).append(Cost(found["cpu"], found["wall"]))
                    accuracy[name] = found["acc_online"]
    mine = median(costs.pop("ours"))
    title = f"T={T}, R of {T} x {T}"
    rows = [row(name, title, median(found), mine, accuracy) for name, found in costs.items()]
    return rows + [Row(f"{name}, {title}", f"skipped: {why}") for name, why in absent.items()]


def row(name: str, title: str, theirs: Cost, mine: Cost, accuracy: dict[str, float]) -> Row:
    cpu, wall = theirs.cpu / mine.cpu, theirs.wall / mine.wall
    peer = name in PEERS
    return Row(
        f"{name} against ours with tracking, {title}",
        f"{theirs.cpu:.1f} s against {mine.cpu:.1f} s CPU: {cpu:.1f}x (wall {wall:.1f}x); "
        f"Acc_t {100 * accuracy[name]:.1f} and {100 * accuracy['ours']:.1f}",
        "10x" if peer else "",
        cpu >= 10 if peer else None,
        {"cpu_ratio": cpu, "wall_ratio": wall, "theirs": vars(theirs), "ours": vars(mine)},
    )


def ours(setup: Setup, table: Table) -> tuple[Cost, float]:
    """A run as a sweep would do it, without the loading of a file: train, R, MLflow."""
    with patch("sdsl.experiment.load", lambda setup: table), Stopwatch() as watch:
        report = job.run(setup, Quiet())
    return watch.cost, report.entries[0].metrics["acc_online"]


def write(file: Path, table: Table) -> int:
    """The stream as seed 0 sees it, scaled; returns the updates of one pass over a segment."""
    stream = experiment.cut(setup_for(), table, (0,))
    scaler = first_scaler(stream.gold(), stream.segment(1))
    segments = range(1, stream.T + 1)
    X, y = stream.tests()
    np.savez(
        file,
        X=np.stack([scaler(stream.segment(t))[0] for t in segments]),
        y=np.stack([stream.truth(t)[0] for t in segments]),
        X_test=np.stack([scaler(X[:, t])[0] for t in range(stream.T)]),
        y_test=y[0].numpy(),
    )
    return -(-stream.n // 64)


def worker(program: str, which: str, file: Path, script: str = "peer.py") -> dict | str:
    """What the peer measured of itself, or why it could not."""
    if not Path(program).exists():
        return "not installed; python -m sdsl.bench peers --install"
    if which == "capymoa" and not shutil.which("java"):
        return "CapyMOA needs Java"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    words = [program, str(ENV / script), which, str(file)]
    done = subprocess.run(words, capture_output=True, text=True, env=clean)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    return json.loads(done.stdout.splitlines()[-1])
