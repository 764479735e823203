"""Commands to kill: forked from a process that has loaded everything, so that a try takes a second.

What they leave is looked at with plain SQL: a store must not be opened by the process that forks.
"""

import hashlib
import os
import signal
import sqlite3
import sys
import time
import traceback
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import unquote, urlparse

import sdsl.experiment
import sdsl.label
import sdsl.tracking.ledger  # noqa: F401
from sdsl import run
from sdsl.tracking import provenance

TINY = ("method=st", "dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=5")
SERIAL = ("-m", "hydra.launcher.n_jobs=1")
PATIENCE = 600.0  # seconds for a command that nobody kills


class Command:
    """`python -m sdsl.run`, or sdsl.label, in a process group of its own, as in a terminal."""

    def __init__(self, *words: str, module=run, log: str = "log.txt"):
        self.begun = time.monotonic()
        self.code: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            self._be(words, module, log)

    def _be(self, words, module, log: str) -> None:
        status = 1
        try:
            os.setsid()
            provenance.tags.cache_clear()  # the process is another one now
            with open(log, "a") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            sys.argv = [module.__name__, *words]
            module.main()
            status = 0
        except SystemExit as stop:
            status = stop.code or 0
        except BaseException:
            traceback.print_exc()
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def ended(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, seconds: float = PATIENCE) -> int | None:
        """The exit status; None, and the command is killed, if it takes longer."""
        end = time.monotonic() + seconds
        while not self.ended():
            if time.monotonic() > end:
                self.signal(signal.SIGKILL)
                self.wait()
                return None
            time.sleep(0.01)
        return self.code

    def signal(self, number: int, group: bool = True) -> None:
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, number)


def query(sql: str) -> list[tuple]:
    """Of the store in this folder; nothing while there is none."""
    if not Path("mlflow.db").exists():
        return []
    with closing(sqlite3.connect("mlflow.db", timeout=60)) as connection:
        return connection.execute(sql).fetchall()


def running() -> int:
    active = "lifecycle_stage = 'active' and status = 'RUNNING'"
    return len(query(f"select run_uuid from runs where {active}"))


def finished() -> dict[str, str]:
    """run_key -> SHA-256 of R; a key that is finished twice is an error."""
    rows = query(
        "select t.value, r.artifact_uri from runs r join tags t on t.run_uuid = r.run_uuid"
        " where t.key = 'run_key' and r.status = 'FINISHED' and r.lifecycle_stage = 'active'"
    )
    counts = Counter(key for key, _ in rows)
    assert not rows or max(counts.values()) == 1, f"done twice: {counts}"
    files = {key: Path(unquote(urlparse(uri).path), "R.npy") for key, uri in rows}
    return {key: hashlib.sha256(file.read_bytes()).hexdigest() for key, file in files.items()}
