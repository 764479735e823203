"""`python -m sdsl.run`, in the test's own process or beside it, and what it left in the store."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Run

from sdsl import interrupt
from sdsl.run import main
from sdsl.tracking.address import store_uri

ROOT = Path(__file__).parents[1]
TINY = ("method=st", "dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=5")
TINY_NAME = "st (learner.pretrain.steps=5) · twonorm · max_segments=2"  # the name of its runs
SERIAL = "hydra/launcher=basic"  # in the test's own process
PATIENCE = 600  # seconds for anything, on a busy machine too


def call(*words: str) -> int:
    """The exit status of a command line, run in this process."""
    before, sys.argv = sys.argv, ["sdsl.run", *words]
    handlers = {number: signal.getsignal(number) for number in interrupt.SIGNALS}
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    finally:
        sys.argv = before
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return 0


def start(*words: str) -> subprocess.Popen[str]:
    """A command in a process, and a process group, of its own: as in a terminal."""
    line = [sys.executable, "-m", "sdsl.run", *words]
    here = os.environ | {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(line, env=here, start_new_session=True, **both)


def at_once(*lines: tuple[str, ...]) -> list[str]:
    """What commands print that start at the same time, all of which must end well."""
    commands = [start(*line) for line in lines]
    said = [command.communicate(timeout=PATIENCE) for command in commands]
    assert [command.returncode for command in commands] == [0] * len(lines), said
    return [out for out, _ in said]


def wait_for(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Looks at a store must not take the time of what they wait for: a fifth of a core at most."""
    end = time.monotonic() + PATIENCE
    while True:
        begun = time.thread_time()
        if condition():
            return
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end, "nothing happened"
        time.sleep(max(0.05, 4 * (time.thread_time() - begun)))


def table(out: str) -> str:
    """The table that a command prints, without the lines that differ from call to call."""
    found = re.search(r"^┏.*^In %[^\n]*\n", out, flags=re.S | re.M)
    assert found, out
    return found[0]


def runs(kind: str = "run") -> list[Run]:
    """All runs of the experiment, whatever their status; none if there is no experiment yet."""
    client = MlflowClient(store_uri(None))
    experiment = client.get_experiment_by_name("sdsl")
    if experiment is None:
        return []
    found = client.search_runs([experiment.experiment_id], f"tags.kind = '{kind}'")
    return sorted(found, key=lambda run: (run.info.run_name, run.info.start_time))


def status(kind: str = "run") -> dict[str, str]:
    """run name -> status; a name that stands twice is a run done twice."""
    found = [(run.info.run_name, run.info.status) for run in runs(kind)]
    assert len(dict(found)) == len(found), found
    return dict(found)


def stored(run: Run, name: str) -> Path:
    """A run's file where a store here keeps it."""
    return Path("outputs", "mlruns", run.info.run_id, "artifacts", name)


def hashes() -> dict[str, str]:
    """run_key -> SHA-256 of the artifact R.npy, of what is FINISHED; none there twice."""
    found: dict[str, str] = {}
    for run in runs():
        if run.info.status == "FINISHED":
            key = run.data.tags["run_key"]
            assert key not in found, "done twice"
            found[key] = hashlib.sha256(stored(run, "R.npy").read_bytes()).hexdigest()
    return found
