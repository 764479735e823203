"""How far the jobs of a sweep are: a tiny file per job, in a folder that ends with the sweep.

It works for every launcher whose workers see the folder. On another machine there is none, and
the sweep counts whole jobs.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Steps:
    """Where a job writes its step."""

    folder: str
    job: int

    @property
    def file(self) -> Path:
        return Path(self.folder, str(self.job))

    def write(self, t: int, total: int) -> None:
        """Segment t of `total` is done."""
        with suppress(OSError):  # another machine, or the sweep has ended: nobody reads it
            if os.path.isdir(self.folder):
                self.file.write_text(f"{t} {total}")


def read(steps: Steps) -> tuple[int, int] | None:
    """(segments done, of how many); None if the job has not said anything yet."""
    try:
        t, total = steps.file.read_text().split()
        return int(t), int(total)
    except (OSError, ValueError):  # not there, or half-written
        return None
