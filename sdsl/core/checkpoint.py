"""A run between two segments, kept in a file, so that a run that was stopped goes on from there.

What is kept is what passes from step to step: the adaptation (parameters, lookback, components,
generators, clock), the cells of R so far and the curves. The file is the state file of
core/state.py: no pickle, and whole or not there. A file that does not fit is left alone.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sdsl.core import state
from sdsl.core.adaptation import Adaptation
from sdsl.errors import UserError

SHARE = 0.02  # of a run's time, at most, that writing may take
Held = dict[str, Any]  # "adapting", and what else the engine keeps


class NoCheckpoint:
    """Nothing is kept."""

    def load(self, T: int) -> Held | None:
        return None

    def keep(self, t: int, held: Callable[[], Held]) -> None:
        """Called after every segment."""


class Checkpoint(NoCheckpoint):
    """One file; `key` says which run, under which code, it belongs to."""

    def __init__(
        self,
        file: Path,
        key: str,
        seconds: float,
        modules: Sequence[str] = (),
        say: Callable[[str], None] = lambda text: None,
    ):
        """seconds: between two writes, or longer where that takes more than SHARE of the time.

        modules: where components of somebody's own are defined.
        """
        self.file, self.key, self.seconds, self.modules, self.say = file, key, seconds, modules, say
        self.next = time.monotonic() + seconds

    def load(self, T: int) -> Held | None:
        """What the last `keep` wrote; None, with a sentence, if it is not a state of this run."""
        if not self.file.exists():
            return None
        try:
            held = state.load_state(self.file, self.modules)
            if not isinstance(held, dict) or held.get("key") != self.key:
                raise UserError(f"{self.file}: of another run.")
            adapting = held["adapting"]
            if not isinstance(adapting, Adaptation) or not 1 <= adapting.t <= T:
                raise UserError(f"{self.file}: not the state of a run of {T} segments.")
        except (UserError, KeyError) as error:
            self.say(f"A checkpoint is left unused, and the run starts anew. {error}")
            return None
        self.say(f"continued at segment {adapting.t} of {T}")
        return held

    def keep(self, t: int, held: Callable[[], Held]) -> None:
        start = time.monotonic()
        if start < self.next:
            return
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            state.save_state(self.file, held() | {"key": self.key}, self.modules)
        except (UserError, OSError) as error:  # a full disk, or a model that is no plain data
            self.say(f"No checkpoint can be kept: a stop would cost the whole run. {error}")
            self.next = float("inf")
            return
        now = time.monotonic()
        self.next = now + max(self.seconds, (now - start) / SHARE)

    def remove(self) -> None:
        """The run is recorded: nobody needs it any more."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)
            self.file.parent.rmdir()  # if it is empty
