"""A bar in a terminal; in a pipe a line per minute. On standard error."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

MINUTE = 60.0  # between two lines about the same work, where there is no terminal


class Bar:
    """One line about work under way, and lines above it that stay."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.terminal = self.console.is_terminal
        self.begun = self.last = time.monotonic()
        self.bar = Progress(
            BarColumn(bar_width=30, pulse_style="cyan"),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            transient=True,
            disable=not self.terminal,
        )
        self.task = self.bar.add_task("starting", total=None)
        self.bar.start()

    def show(self, text: str, done: float, total: float | None) -> None:
        """The work as it is now; `total` is None if it is not known."""
        self.bar.update(self.task, description=text, completed=done, total=total)
        if not self.terminal and time.monotonic() > self.last + MINUTE:
            self.say(text)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.last = time.monotonic()
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def left(self, done: float, total: float) -> str:
        """', 0:01:35 left'; empty before anything is done and after the last."""
        if not 0 < done < total:
            return ""
        minutes, seconds = divmod(round((time.monotonic() - self.begun) * (total / done - 1)), 60)
        return f", {minutes // 60}:{minutes % 60:02}:{seconds:02} left"

    def stop(self) -> None:
        self.bar.stop()
