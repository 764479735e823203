"""Commands forked from a process that has loaded everything: loading takes 5 s of CPU, a fork none.

    Forked(["sdsl.run", "method=st"], "/some/folder", os.environ)  # much like a Popen

The server opens no store and starts no thread, so that what it forks is like a new process. It ends
with the process that started it.
"""

import atexit
import functools
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

LOADED = ("sdsl.experiment", "sdsl.label", "sdsl.run", "sdsl.tracking.ledger")
LOADED += ("sdsl.tracking.confusion_files", "sdsl.tracking.twins", "matplotlib.figure")


class Forked:
    """A command in a process group of its own: pid, and what a Popen offers to tests."""

    def __init__(self, line: Sequence[str], folder: str, environment: Mapping[str, str]):
        ours, self.args = [os.pipe(), os.pipe()], list(line)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(server())
        asked = json.dumps([self.args, folder, dict(environment)]).encode()
        head = len(asked).to_bytes(8, "big")
        socket.send_fds(self.socket, [head], [theirs for _, theirs in ours])
        self.socket.sendall(asked)
        for _, theirs in ours:
            os.close(theirs)
        self.returncode: int | None = None
        self.pid = int.from_bytes(self._received(8), "big")
        out, err = (os.fdopen(end, encoding="utf-8", errors="replace") for end, _ in ours)
        self.stdout: TextIO = out
        self.stderr: TextIO = err

    def _received(self, count: int) -> bytes:
        got = self.socket.recv(count, socket.MSG_WAITALL)
        assert len(got) == count, "the server of forks is gone"
        return got

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self.socket.settimeout(timeout)
            try:
                self.returncode = int.from_bytes(self._received(8), "big", signed=True)
            except TimeoutError:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0) from None
            self.socket.close()
        return self.returncode

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0.001)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """(stdout, stderr) once it has ended, and all that it started and that writes there."""
        said = ["", ""]

        def read(index: int, pipe: TextIO) -> None:
            with pipe:
                said[index] = pipe.read()

        pipes = enumerate((self.stdout, self.stderr))
        readers = [threading.Thread(target=read, args=pair, daemon=True) for pair in pipes]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader in readers:
            reader.join(timeout)
        return said[0], said[1]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@functools.cache
def server() -> str:
    """The address of this process's server, started when it is first asked for."""
    address = tempfile.mktemp(prefix="sdsl-forks-")
    process = subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE)
    atexit.register(process.kill)
    assert process.stdout is not None and process.stdout.readline() == b"loaded\n"
    return address


def serve(address: str) -> None:
    for name in LOADED:
        importlib.import_module(name)
    with socket.socket(socket.AF_UNIX) as asked:
        asked.bind(address)
        asked.listen(64)
        print("loaded", flush=True)
        parent = os.getppid()
        asked.settimeout(1.0)
        while os.getppid() == parent:
            with suppress(TimeoutError):
                connection = asked.accept()[0]
                if not os.fork():  # who waits for the command, and says how it ended
                    asked.close()
                    _nurse(connection)
                connection.close()
                with suppress(ChildProcessError):
                    while os.waitpid(-1, os.WNOHANG)[0]:
                        pass
    os.unlink(address)


def _nurse(connection: socket.socket) -> None:
    connection.setblocking(True)
    head, pipes, *_ = socket.recv_fds(connection, 8, 2)
    length = int.from_bytes(head, "big")
    line, folder, environment = json.loads(connection.recv(length, socket.MSG_WAITALL))
    if not (pid := os.fork()):
        connection.close()
        _become(line, folder, environment, pipes)
    for pipe in pipes:
        os.close(pipe)
    connection.sendall(pid.to_bytes(8, "big"))
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    with suppress(OSError):  # nobody wants to know
        connection.sendall(status.to_bytes(8, "big", signed=True))
        connection.recv(1)  # as with a Popen, its pid stays until somebody has asked how it ended
    os._exit(0)


def _become(line: list[str], folder: str, environment: dict[str, str], pipes: list[int]) -> None:
    """`python -m` this line, as if it had been started so."""
    status: object = 1
    try:
        os.setsid()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for number, pipe in enumerate(pipes, 1):
            os.dup2(pipe, number)
            os.close(pipe)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace")
        sys.path[:0] = ["", *environment.get("PYTHONPATH", "").split(os.pathsep)]
        sys.argv = [str(importlib.import_module(line[0]).__file__), *line[1:]]
        status = importlib.import_module(line[0]).main() or 0
    except SystemExit as stop:
        status = stop.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])
    serve(sys.argv[1])
