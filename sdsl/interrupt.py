"""Ctrl-C and SIGTERM end a run in good order: never in the middle of a call to the store.

Between the store's commit of a new run and our note of its id, an interrupt would leave a run that
nobody marks as KILLED.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_depth = 0
_waiting: int | None = None


def install() -> None:
    """Both signals become a KeyboardInterrupt that carries the signal's number."""
    for number in SIGNALS:
        signal.signal(number, _handle)


def ignore() -> None:
    """In a worker: a Ctrl-C is for the parent, who ends the workers and marks their runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def shielded() -> Iterator[None]:
    """An interrupt that comes inside waits until the end of the block."""
    global _depth, _waiting
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth and _waiting is not None:
            number, _waiting = _waiting, None
            raise KeyboardInterrupt(number)


def _handle(number: int, frame: FrameType | None) -> None:
    global _waiting
    if _depth:
        _waiting = number
    else:
        raise KeyboardInterrupt(number)
