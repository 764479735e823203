"""A run between two segments, kept in a file, so that a run that was stopped goes on from there.

The file holds all that passes from step to step: the adaptation (parameters, lookback, components,
generators, seconds), the cells of R so far and the curves. A file that does not fit is left alone.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sdsl.core.state import load_state, save_state
from sdsl.errors import UserError

SHARE = 0.02  # of a run's time, at most, that writing may take


class Checkpoint:
    """One file; `key` says which run, under which code, it belongs to."""

    def __init__(
        self, file: Path, key: str, seconds: float, say: Callable[[str], None] = lambda text: None
    ):
        """seconds: between two writes, or longer where that takes more than SHARE of the time."""
        self.file, self.key, self.seconds, self.say = file, key, seconds, say
        self.next = time.monotonic() + seconds

    def load(self, T: int) -> dict[str, Any] | None:
        """The data of the last `keep`; None, with a sentence, if it is not a state of this run."""
        if not self.file.exists():
            return None
        try:
            saved = load_state(self.file)
            if not isinstance(saved, dict) or saved.get("key") != self.key:
                raise UserError(f"{self.file}: of another run.")
            t = saved["adapting"]["t"]
            if not 1 <= t <= T:
                raise UserError(f"{self.file}: not the state of a run of {T} segments.")
        except (UserError, KeyError, TypeError) as error:
            self.say(f"A checkpoint is left unused, and the run starts anew. {error}")
            return None
        self.say(f"continued at segment {t} of {T}")
        return saved

    def keep(self, data: Callable[[], dict[str, Any]]) -> None:
        """Called after every segment; writes when it is time."""
        start = time.monotonic()
        if start < self.next:
            return
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            save_state(self.file, data() | {"key": self.key})
        except (UserError, OSError) as error:  # a full disk, or a model that is no plain data
            self.say(f"No checkpoint can be kept: a stop would cost the whole run. {error}")
            self.next = float("inf")
            return
        now = time.monotonic()
        self.next = now + max(self.seconds, (now - start) / SHARE)

    def remove(self) -> None:
        """The run is recorded: its checkpoint is no longer needed."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)
            self.file.parent.rmdir()  # if it is empty
