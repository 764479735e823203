"""Where a run's time goes: imports, Hydra, data, labelling, training, eigh, evaluation, MLflow.

Runs in a process of its own, so that imports are part of it; CPU time, one line a run.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

from sdsl.bench.rows import Row

RUNS = {
    "ours, ug_2c_2d, one seed": ["method=ours"],
    "ours, optdigits, five seeds": ["method=ours", "dataset=optdigits", "seed=paper"],
}
TINY = ["stream.max_segments=2", "learner.pretrain.steps=5"]
# A function's time is its own: what a timed function calls and is timed too is taken off it.
PARTS = {
    "data": ["sdsl.experiment.load", "sdsl.core.table.Table.digest", "sdsl.experiment.cut"],
    "eigh/SVD": ["torch.linalg.eigh", "torch.linalg.svd"],
    "artifacts": ["sdsl.tracking.artifacts.write"],
    "MLflow": [
        "sdsl.tracking.ledger.Ledger.__init__",
        "sdsl.tracking.client.PatientClient._patiently",
    ],
}
NAMES = {"train": "training", "label": "labelling", "eval": "evaluation"}


def measure(tiny: bool, out: Path) -> list[Row]:
    rows = []
    for name, overrides in list(RUNS.items())[: 1 if tiny else None]:
        words = [*overrides, *(TINY if tiny else ["stream.max_segments=20"])]
        with tempfile.TemporaryDirectory() as folder:
            seconds = apart([words], folder)
        total = sum(seconds.values())
        parts = sorted(seconds.items(), key=lambda pair: -pair[1])
        found = ", ".join(f"{part} {100 * s / total:.0f}%" for part, s in parts)
        title = f"{name}, T={2 if tiny else 20}, new store"
        rows.append(Row(title, f"{total:.1f} s CPU: {found}", raw=seconds))
    return rows


def apart(jobs: list[list[str]], folder: str) -> dict[str, float]:
    """`worker` in a process of its own, whose store and outputs are in the folder."""
    command = [sys.executable, "-m", "sdsl.bench.shares", json.dumps(jobs)]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


class Shares:
    """Nested timers: the inner one's time is taken off the outer one's."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.inner = [0.0]

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        start = time.process_time()
        self.inner.append(0.0)
        try:
            yield
        finally:
            spent = time.process_time() - start
            self.seconds[part] += spent - self.inner.pop()
            self.inner[-1] += spent

    def timed(self, part: str, function: Callable) -> Callable:
        def call(*args: Any, **kwargs: Any) -> Any:
            with self(part):
                return function(*args, **kwargs)

        return call


def worker(jobs: list[list[str]]) -> dict[str, float]:
    """Seconds by part of jobs, each given by its overrides, from the start of the process."""
    shares = Shares()
    shares.seconds["imports"] = time.process_time()  # Python itself and this file
    with shares("Hydra"):
        from sdsl.config.compose import composed

        configs = [composed(*overrides) for overrides in jobs]
    with shares("imports"):
        import torch  # noqa: F401

        from sdsl import experiment
        from sdsl.core import engine  # noqa: F401
        from sdsl.launch import job
        from sdsl.launch.screen import Quiet
        from sdsl.tracking import artifacts  # noqa: F401

    class Clock:
        """The engine's clock, in CPU time and with what is timed inside taken off."""

        seconds = shares.seconds

        def __call__(self, part: str) -> AbstractContextManager[None]:
            return shares(NAMES[part])

    with ExitStack() as patches:
        patches.enter_context(patch("sdsl.core.adaptation.Clock", Clock))
        for part, targets in PARTS.items():
            for target in targets:
                patches.enter_context(patch(target, shares.timed(part, resolve_name(target))))
        with shares("rest"):
            for config in configs:
                job.run(experiment.setup(config), Quiet())
    return dict(shares.seconds)


if __name__ == "__main__":
    print(json.dumps(worker(json.loads(sys.argv[1]))))
