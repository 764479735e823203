"""Ctrl-C and SIGTERM end a command in good order, and its workers end with it.

Nothing is lost in any case: a run whose process is gone holds no lock, and the next command marks
it as KILLED and makes it again.
"""

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
COMMAND = "SDSL_COMMAND"  # the process id of the command, for its workers


def install() -> None:
    """Both signals raise KeyboardInterrupt with the signal's number.

    To be called again after MLflow is imported: polars, if it is there, replaces the handlers.
    """
    os.environ[COMMAND] = str(os.getpid())
    for number in SIGNALS:
        signal.signal(number, _raise)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt(number)


def leave(stop: KeyboardInterrupt, text: str = "Stopped. The same command continues.") -> NoReturn:
    """The end of a command that was stopped: one line, and the exit status that shells expect."""
    print(text, file=sys.stderr)
    sys.exit(128 + (stop.args[0] if stop.args else signal.SIGINT))


def end_with_command() -> None:
    """In a worker that the command started itself: ends when the command does, even by SIGKILL.

    Ctrl-C reaches all processes of a terminal; there it is for the command to end its workers. A
    job of Slurm or Ray has another parent and is left alone.
    """
    command = os.getppid()
    if os.environ.get(COMMAND) != str(command):
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == command:
            time.sleep(0.2)
        os._exit(1)

    if not any(thread.name == COMMAND for thread in threading.enumerate()):
        threading.Thread(target=watch, name=COMMAND, daemon=True).start()
