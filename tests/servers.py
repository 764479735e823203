"""`mlflow server` for the tests, on loopback and a free port only."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

HOST = "127.0.0.1"
PATIENCE = 600  # seconds for a server to answer, on a busy machine too


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


class Mlflow:
    """A server that can be killed and started again on the same address."""

    def __init__(self, database: str, folder: Path):
        self.port = free_port()
        self.uri, self.folder = f"http://{HOST}:{self.port}", folder
        self.line = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", database]
        self.line += ["--artifacts-destination", str(folder / "artifacts"), "--workers", "1"]
        self.line += ["--host", HOST, "--port", str(self.port)]

    def start(self) -> "Mlflow":
        lean = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # it has none to do
        with (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                self.line, stdout=log, stderr=log, env=lean, cwd=self.folder, start_new_session=True
            )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=2).close()
                return self
            except OSError:
                assert self.process.poll() is None, (self.folder / "server.log").read_text()
                assert time.monotonic() < end, "the server does not answer"
                time.sleep(0.2)

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
