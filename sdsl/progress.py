"""How far a command is: a bar in a terminal, in a pipe a line per minute."""

import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

MINUTE = 60.0  # between two lines about the same work, where nobody sees a bar


class Pace:
    """Speed since the start, so that the time left converges as work is done."""

    def __init__(self) -> None:
        self.start = time.monotonic()

    def speed(self, done: float) -> float:
        """Per second; 0 as long as nothing is done."""
        return done / max(1e-9, time.monotonic() - self.start)

    def left(self, done: float, total: float) -> str:
        """', 1:35 left'; nothing before the first piece is done and after the last."""
        if not 0 < done < total:
            return ""
        return f", {clock((total - done) / self.speed(done))} left"


class Meter:
    """One line about work under way, on standard error."""

    def __init__(self, text: str = "starting") -> None:
        self.console = Console(stderr=True)
        self.text, self.last = text, time.monotonic()
        self.bar = Progress(
            BarColumn(bar_width=30, pulse_style="cyan"),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task(text, total=None)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    @property
    def watched(self) -> bool:
        """Whether there is a terminal."""
        return self.console.is_terminal

    def show(self, text: str, done: float = 0, total: float | None = None) -> None:
        """What is going on; without a total, nobody knows how long it takes."""
        self.text = text
        self.bar.update(self.task, description=text, completed=done, total=total)
        if not self.watched and time.monotonic() > self.last + MINUTE:
            self.say(text)

    def say(self, text: str) -> None:
        """Something to be read afterwards too."""
        self.last = time.monotonic()
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


class Parts(Meter):
    """'searching: 3 of 8, 1:35 left, penbased': work in parts that are known beforehand."""

    def __init__(self, what: str, total: int) -> None:
        super().__init__(what)
        self.what, self.total, self.done, self.pace = what, total, 0, Pace()
        self.begun = False

    def next(self, name: str) -> None:
        """A part begins, and the one before it is done; a line, where there is no bar."""
        if self.begun:
            self.end()
        self.begun = True
        if self.watched and self.bar.live.is_started:
            self._show(name)
        else:
            left = self.pace.left(self.done, self.total)
            self.say(f"{self.what}: {self.done + 1} of {self.total}, {name}{left}")

    def end(self, name: str = "") -> None:
        """A part is done, whichever it was."""
        self.done += 1
        self._show(name)

    def _show(self, name: str) -> None:
        left = self.pace.left(self.done, self.total)
        count = f"{self.what}: {self.done} of {self.total}{left}"
        self.show(f"{count}, {name}" if name else count, self.done, self.total)


def clock(seconds: float) -> str:
    """'1:35', '2:03:07'"""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
