"""What cannot be printed ends no command: a closed pipe, a full disk, an ASCII terminal.

A text that cannot be written is dropped, the command goes on to its end, and then says in one
sentence that its output is lost. Who closes a pipe early, as `head` does, has seen enough: that is
no error. A file or folder that cannot be written is named in one sentence, too.
"""

import codecs
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

ASCII = {"±": "+-", "·": "-", "×": "x", "…": "...", "≤": "<=", "≥": ">=", "→": "->", "−": "-"}
LOST = 2  # exit status where something could not be written
NO_ROOM = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}
NO_ROOM |= {errno.ENOTDIR, errno.EEXIST}  # a file stands where a folder should
ELSEWHERE = "Make it writable, or start the command in another folder; the same command goes on."


class Forgiving:
    """A stream that notes the first error of writing and drops what comes after it."""

    def __init__(self, stream: TextIO):
        self.stream = stream
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        self._try(lambda: self.stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self.stream.flush)

    def _try(self, call: Any) -> None:
        if self.error is not None:
            return
        try:
            call()
        except OSError as error:
            self.error = error
            self._give_up()

    def _give_up(self) -> None:
        """The rest goes nowhere: Python would try again to write it when it ends."""
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.stream.fileno())
            os.close(null)
            self.stream.flush()
        except (OSError, ValueError):  # a stream without a file: nothing is tried again
            return


@contextmanager
def guarded() -> Iterator[None]:
    """Around a command, or over its main function as a decorator."""
    if isinstance(sys.stdout, Forgiving):  # `sdsl run` calls the main function of `run`
        yield
        return
    codecs.register_error("sdsl", _spelled)
    before = sys.stdout, sys.stderr
    out, err = (Forgiving(_opened(stream, fd)) for fd, stream in enumerate(before, 1))
    sys.stdout, sys.stderr = out, err
    leaving: SystemExit | None = None
    try:
        yield
    except SystemExit as stop:
        leaving = stop
    except OSError as error:
        if error.errno not in NO_ROOM or error.filename is None:
            raise
        print(f"{error.filename} cannot be written: {error.strerror}. {ELSEWHERE}", file=err)
        leaving = SystemExit(LOST)
    finally:
        out.flush()
        err.flush()
        _restore(before, (out, err))
    failed = leaving is not None and leaving.code
    if not failed and out.error is not None and not isinstance(out.error, BrokenPipeError):
        why = out.error.strerror or out.error
        print(f"Standard output could not be written ({why}); nothing else is lost.", file=err)
        leaving = SystemExit(LOST)
    if leaving is not None:
        raise leaving


def _opened(stream: TextIO | None, fd: int) -> TextIO:
    """The stream, in letters that it can write. A closed one goes nowhere, and its number is kept:
    the next file to be opened, a database perhaps, would be printed into."""
    if stream is None:
        null = os.open(os.devnull, os.O_WRONLY)
        if null != fd:
            os.dup2(null, fd)
            os.close(null)
        return open(fd, "w", closefd=False)
    if hasattr(stream, "reconfigure"):  # a notebook's has no encoding
        stream.reconfigure(errors="sdsl")
    return stream


def _restore(before: tuple[TextIO, TextIO], ours: tuple[Forgiving, Forgiving]) -> None:
    """Unless somebody else has put a stream in place meanwhile."""
    if sys.stdout is ours[0]:
        sys.stdout = before[0]
    if sys.stderr is ours[1]:
        sys.stderr = before[1]


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """What an ASCII terminal shows instead of a letter that it does not have."""
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(ASCII.get(letter, "?") for letter in missing), error.end
