"""A job's report of how far it is and how it ended: a small JSON file in the folder of its sweep.

The screen reads it, so a bar and a table appear with every launcher whose jobs see that folder.
"""

import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

PAUSE = 0.2  # seconds between two writes
FOLDER = ".jobs"  # in the folder of a run or a sweep; made and removed by the screen


@dataclass
class Report:
    """The state of one job."""

    job: int
    words: str  # its overrides, without passwords
    stage: str = ""
    seeds: int = 1  # how many it has
    done: int = 0  # of which so many are finished
    t: int = 0  # segments of the present seed
    T: int = 0
    online: float = 0.0  # Acc_t so far
    notes: list[str] = field(default_factory=list)  # lines that stay on the screen
    ended: bool = False
    failure: str = ""  # the cause
    row: dict[str, Any] = field(default_factory=dict)  # of the table: names, standing, ...
    runs: list[dict[str, Any]] = field(default_factory=list)  # seed and metrics
    computed: int = 0  # runs that were made now; the rest was in the store

    def share(self) -> float:
        """How much of the job is done, 0 to 1."""
        return 1.0 if self.ended else (self.done + self.t / max(1, self.T)) / self.seeds


class Reporter:
    """Writes the report of one job."""

    def __init__(self, folder: Path, report: Report):
        self.folder, self.report, self.last = folder / FOLDER, report, 0.0

    def __call__(self, **changes: Any) -> None:
        """Change the report and write it."""
        vars(self.report).update(changes)
        if self.folder.is_dir():  # not on another machine, or without a screen
            file = self.folder / f"{self.report.job}.json"
            new = file.with_suffix(".new")
            new.write_text(json.dumps(asdict(self.report)), encoding="utf-8")
            os.replace(new, file)

    def step(self, t: int, online: float) -> None:
        """Segment t is done; written a few times per second."""
        self.report.t, self.report.online = t, online
        if time.monotonic() > self.last + PAUSE:
            self.last = time.monotonic()
            self()


def read(folder: Path) -> dict[int, Report]:
    """The reports of all jobs that have begun, by their number."""
    files = (folder / FOLDER).glob("*.json")
    found = [Report(**json.loads(file.read_text(encoding="utf-8"))) for file in files]
    return {report.job: report for report in sorted(found, key=lambda report: report.job)}


def sweep_id(folder: Path) -> str:
    """The tag of a sweep's runs: '2026-11-18/22-30-01-123456'."""
    return "/".join(folder.parts[-2:])
