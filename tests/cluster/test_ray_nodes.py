"""A Ray cluster on loopback: the same sweep twice at once; a node that is killed mid-sweep."""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cli import SERIAL, at_once, call, hashes, looked, runs, table
from servers import free_port

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs ray: pip install 'sdsl[cluster]'"
)
SWEEP = (
    *("-m", "method=st", "dataset=twonorm", "stream.max_segments=2"),
    "learner.pretrain.steps=4000,4001,4002,4003",  # long enough to be killed in the middle
)
TWICE = (*SWEEP[:-1], "seed=0,1", "learner.pretrain.steps=5,6")
PATIENCE = 300


class Node:
    """`ray start --block` with one CPU and a loopback address of its own; the first is the head.

    127.0.0.1 Ray would change for the address that other machines see.
    """

    def __init__(self, folder, head: str | None = None):
        host = "127.0.0.3" if head else "127.0.0.2"
        self.address = head or f"{host}:{free_port()}"
        join = ["--address", self.address] if head else ["--head", "--port", self.port]
        join += [] if head else ["--include-dashboard=false", "--temp-dir", str(folder)]
        line = [sys.executable, "-m", "ray.scripts.scripts", "start", *join, "--block"]
        line += ["--num-cpus=1", f"--node-ip-address={host}", "--object-store-memory=100000000"]
        quick = {"RAY_health_check_period_ms": "1000", "RAY_health_check_failure_threshold": "3"}
        self.log = folder / ("node.log" if head else "head.log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(line, stdout=log, stderr=log, env=os.environ | quick)
        try:
            until(lambda: "Ray runtime started" in self.log.read_text(), self)
        except BaseException:
            self.kill()
            raise

    @property
    def port(self) -> str:
        return self.address.rpartition(":")[2]

    def family(self) -> set[int]:
        """Itself and all below it: the raylet and its workers."""
        listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True).stdout
        parents = [tuple(map(int, line.split())) for line in listed.splitlines()]
        found, size = {self.process.pid}, 0
        while len(found) > size:
            size = len(found)
            found |= {pid for pid, parent in parents if parent in found}
        return found

    def kill(self) -> None:
        if self.process.poll() is None:
            for pid in self.family():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.process.wait()


def until(condition, node: Node) -> None:
    end = time.monotonic() + PATIENCE
    while not looked(condition):
        assert node.process.poll() is None, node.log.read_text()
        assert time.monotonic() < end, f"nothing happened: {node.log.read_text()}"


@pytest.fixture(scope="module")
def head():
    # A socket's path holds 107 bytes, and Ray's own part takes 60: pytest's folders are too deep.
    with TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        node = Node(Path(folder))
        yield node
        node.kill()


def test_the_same_sweep_twice_at_once(here, head):
    """Half a CPU per job: so one of each sweep runs at a time."""
    launcher = ("hydra/launcher=ray", f"hydra.launcher.address={head.address}")
    line = (*launcher, "hydra.launcher.cpus=0.5", *TWICE)
    one, other = at_once(line, line)
    assert table(one) == table(other)
    assert len(hashes()) == 4  # each key once
    assert {run.info.status for run in runs()} == {"FINISHED"}


@pytest.fixture
def second(head):
    node = Node(head.log.parent, head.address)
    yield node
    node.kill()


def test_a_node_that_dies(here, head, second, empty_store, tmp_path_factory, capfd):
    killed = []

    def gremlin():
        def hit() -> bool:
            pids = {str(pid) for pid in second.family()}
            return any(
                run.info.status == "RUNNING" and run.data.tags["pid"] in pids for run in runs()
            )

        until(hit, second)
        second.kill()
        killed.append(True)

    from sdsl.tracking.ledger import Ledger

    Ledger(None, "sdsl")  # the experiment, for the gremlin to look at
    watcher = threading.Thread(target=gremlin, daemon=True)
    watcher.start()
    line = ("hydra/launcher=ray", f"hydra.launcher.address={head.address}")
    assert call(*line, *SWEEP) == 0, capfd.readouterr().err
    assert killed
    survived = hashes()
    assert len(survived) == 4
    assert {run.info.status for run in runs()} == {"FINISHED", "KILLED"}

    other = tmp_path_factory.mktemp("undisturbed")
    (other / "mlflow.db").write_bytes(empty_store.read_bytes())
    os.chdir(other)  # `here` goes back by itself
    assert call(SERIAL, *SWEEP) == 0
    assert hashes() == survived
