"""Real servers for the tests, on loopback and free ports only: PostgreSQL and MLflow over HTTP."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"
PATIENCE = 300  # seconds for a server to answer, on a busy machine too


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def postgres_programs() -> Path | None:
    """Debian's newest, which is not on the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=str)
    return found[-1].parent if found else None


@contextmanager
def postgres() -> Iterator[str]:
    """The address of an empty database; PostgreSQL refuses to run as root."""
    programs, port, log = postgres_programs(), free_port(), subprocess.DEVNULL
    folder = Path(tempfile.mkdtemp(prefix="sdsl-postgres-"))
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    who = {"user": user, "cwd": folder} if os.geteuid() == 0 else {"cwd": folder}
    shutil.chown(folder, user)
    make = [programs / "initdb", "-D", folder / "data", "-U", "sdsl", "-A", "trust", "--no-sync"]
    subprocess.run(make, check=True, stdout=log, **who)
    options = ["-h", HOST, "-p", str(port), "-k", str(folder), "-F"]
    server = subprocess.Popen(
        [programs / "postgres", "-D", folder / "data", *options], stdout=log, stderr=log, **who
    )
    try:
        _wait(lambda: socket.create_connection((HOST, port), 1).close(), server)
        yield f"postgresql+psycopg2://sdsl@{HOST}:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)  # its "fast" shutdown
        server.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


class Mlflow:
    """`mlflow server`, which can be killed and started again on the same address."""

    def __init__(self, database: str, folder: Path):
        self.port = free_port()
        self.uri = f"http://{HOST}:{self.port}"
        self.line = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", database]
        self.line += ["--artifacts-destination", str(folder), "--workers", "1"]
        self.line += ["--host", HOST, "--port", str(self.port)]
        self.log = folder / "server.log"

    def start(self) -> "Mlflow":
        lean = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # it has none to do
        folder = self.log.parent
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                self.line, stdout=log, stderr=log, env=lean, cwd=folder, start_new_session=True
            )
        health = f"{self.uri}/health"
        _wait(lambda: urllib.request.urlopen(health, timeout=2).close(), self.process)
        return self

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _wait(call, process: subprocess.Popen) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except OSError:
            assert process.poll() is None, f"{process.args[0]} ended with {process.returncode}"
            assert time.monotonic() < end, f"{process.args[0]} does not answer"
            time.sleep(0.2)
