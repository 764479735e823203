"""Ctrl-C and SIGTERM end a run in good order: never in the middle of a call to the store.

Between the store's commit of a new run and our note of its id, an interrupt would leave a run that
nobody marks as KILLED. The first signal ends the command; more of them, while it puts things in
order, change nothing, unless that takes longer than GRACE.

Python drops an exception that is raised while it collects garbage (in a weakref's callback, in
__del__), a KeyboardInterrupt, too. Such a one is raised again a moment later.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE = 3.0  # seconds after the first signal; from then on a signal ends the process at once
AGAIN = 0.05  # seconds until a stop that was dropped is tried again
_depth = 0
_waiting: int | None = None
_stopped: float | None = None  # when the first signal struck


def install() -> None:
    """Both signals become a KeyboardInterrupt that carries the signal's number.

    To be called again after imports: polars, which MLflow loads if it is there, puts a handler of
    its own in place, and under that one a main thread that waits for a lock is not woken.
    """
    global _stopped
    _stopped = None
    for number in SIGNALS:
        signal.signal(number, _handle)
    sys.unraisablehook = _dropped


def ignore() -> None:
    """In a worker: a Ctrl-C is for the parent, who ends the workers and marks their runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def leave(stop: KeyboardInterrupt) -> NoReturn:
    """The end of a command that was stopped: one line, and the exit status that shells expect."""
    for number in SIGNALS:  # a signal during Python's own end would change the exit status
        signal.signal(number, signal.SIG_IGN)
    print("Stopped. The same command goes on from here.", file=sys.stderr)
    end(128 + (stop.args[0] if stop.args else signal.SIGINT))


def at_once(status: int) -> NoReturn:
    """Without Python's own end, which takes seconds with torch loaded and waits for threads.

    A thread of the pool of workers may wait for ever: for a worker that the same Ctrl-C killed
    before it could say that it was there.
    """
    with suppress(OSError, ValueError):  # a closed pipe
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


end: Callable[[int], NoReturn] = at_once  # a test that runs a command in its own process needs exit


@contextmanager
def shielded() -> Iterator[None]:
    """An interrupt that comes inside waits until the end of the block.

    Signals are for the main thread: in any other there is nothing to wait.
    """
    global _depth, _waiting
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth and _waiting is not None:
            number, _waiting = _waiting, None
            _strike(number)


def _handle(number: int, frame: FrameType | None) -> None:
    global _waiting
    if _stopped is not None:
        if time.monotonic() > _stopped + GRACE:
            os._exit(128 + number)
    elif _depth:
        _waiting = number
    else:
        _strike(number)


def _strike(number: int) -> None:
    global _stopped
    _stopped = time.monotonic()
    raise KeyboardInterrupt(number)


def _dropped(lost: "sys.UnraisableHookArgs") -> None:
    """What Python does with an exception that has nowhere to go; a stop comes back."""
    global _stopped
    stop = lost.exc_value
    if not (isinstance(stop, KeyboardInterrupt) and stop.args):
        sys.__unraisablehook__(lost)
        return
    _stopped = None
    again = threading.Timer(AGAIN, os.kill, (os.getpid(), stop.args[0]))
    again.daemon = True
    again.start()
