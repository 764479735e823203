"""`python -m sdsl.run`, in the test's own process or beside it, and what it left in the store."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Run

from sdsl import interrupt
from sdsl.config.naming import Names
from sdsl.config.schema import Setup
from sdsl.launch import job
from sdsl.launch.types import JobReport
from sdsl.run import main
from sdsl.tracking.address import store_uri

ROOT = Path(__file__).parents[1]
TINY = ("method=st", "dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=5")
TINY_NAME = "st (learner.pretrain.steps=5) · twonorm · max_segments=2"  # what its runs are called
SERIAL = "hydra.launcher.n_jobs=1"


def table(out: str) -> str:
    """What a sweep prints, without the ids of its runs, which are new each time."""
    return re.split(r"^\d+ runs?\b", out, flags=re.M)[0]


def call(*words: str) -> int:
    """The exit status of a command line, run in this process."""
    before, hook, sys.argv = sys.argv, sys.excepthook, ["sdsl.run", *words]
    handlers = {number: signal.getsignal(number) for number in interrupt.SIGNALS}
    interrupt.end = sys.exit  # not without this process's own end
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0
    finally:
        sys.argv, sys.excepthook, interrupt.end = before, hook, interrupt.at_once
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return 0


def start(*words: str, module: str = "sdsl.run", **environment: str) -> subprocess.Popen[str]:
    """A command in a process, and a process group, of its own: as in a terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


TOGETHER = """
import json, sys
from tests.chaos.commands import Command
lines, log = json.loads(sys.argv[1]), sys.argv[2]
sys.exit(set(command.wait() for command in [Command(*line, log=log) for line in lines]) != {0})
"""


def together(*lines: tuple[str, ...]) -> None:
    """Commands that begin at the same moment, all of which must end well.

    They are forked from one process that has loaded everything: no start lags behind another.
    """
    with tempfile.NamedTemporaryFile("r") as log:
        line = [sys.executable, "-c", TOGETHER, json.dumps(lines), log.name]
        done = subprocess.run(line, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert done.returncode == 0, log.read()


def at_once(*lines: tuple[str, ...]) -> list[str]:
    """What commands print that start at the same time, all of which must end well."""
    commands = [start(*line) for line in lines]
    said = [command.communicate() for command in commands]
    assert [command.returncode for command in commands] == [0] * len(lines), said
    return [out for out, _ in said]


def wait_for(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 600
    while not looked(condition):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end, "nothing happened"


def looked(condition: Callable[[], object]) -> object:
    """A look, and a pause if it shows nothing: looks at a store must not take what they wait for.

    So they get at most a fifth of a core.
    """
    begun = time.thread_time()
    if not (found := condition()):
        time.sleep(max(0.05, 4 * (time.thread_time() - begun)))
    return found


def checked_only(monkeypatch) -> list[Setup]:
    """From now on jobs are checked but not run; the list fills with what would have run."""
    setups: list[Setup] = []

    def note(setup, screen, tags=None) -> JobReport:
        setups.append(setup)
        names = Names(setup.name, "d", "")
        return JobReport(names, "g", "", [], 0, "data", "own", False, "sqlite:///x", "1", [])

    monkeypatch.setattr(job, "run", note)
    monkeypatch.setattr(job, "print_summary", lambda *_: None)
    monkeypatch.setattr("sdsl.launch.launcher.print_summary", lambda *_: None)
    return setups


def client(uri: str | None = None) -> MlflowClient:
    return MlflowClient(store_uri(uri))


def runs(kind: str = "run", uri: str | None = None) -> list[Run]:
    """All runs of the experiment, whatever their status; none if there is no experiment yet."""
    experiment = client(uri).get_experiment_by_name("sdsl")
    if experiment is None:
        return []
    found = client(uri).search_runs([experiment.experiment_id], f"tags.kind = '{kind}'")
    return sorted(found, key=lambda run: (run.info.run_name, run.info.start_time))


def status(kind: str = "run") -> dict[str, str]:
    """run name -> status; a name that stands twice is a run done twice."""
    found = [(run.info.run_name, run.info.status) for run in runs(kind)]
    assert len(dict(found)) == len(found), found
    return dict(found)


def stored(run: Run, name: str) -> Path:
    """A run's file where a store here keeps it."""
    return Path("outputs", "mlruns", run.info.run_id, "artifacts", name)


def artifact(run: Run, name: str, uri: str | None = None) -> Path:
    """A copy of a run's file."""
    return Path(client(uri).download_artifacts(run.info.run_id, name))


def hashes(uri: str | None = None) -> dict[str, str]:
    """run_key -> SHA-256 of the artifact R.npy, of what is FINISHED; none there twice."""
    found: dict[str, str] = {}
    for run in runs(uri=uri):
        if run.info.status == "FINISHED":
            key = run.data.tags["run_key"]
            assert key not in found, "done twice"
            found[key] = hashlib.sha256(artifact(run, "R.npy", uri).read_bytes()).hexdigest()
    return found
