"""Which process made a run, and whether it still lives: among all processes of all machines."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """One process for good: a pid alone comes round again."""

    host: str
    pid: int
    start: str  # boot and time of its start; '' where there is no /proc

    def __str__(self) -> str:
        return f"{self.host} {self.pid} {self.start}"

    @classmethod
    def parse(cls, text: str) -> "Process | None":
        """What str() wrote; None for anything else, such as the tag of somebody else's run."""
        host, _, rest = text.partition(" ")
        pid, _, start = rest.partition(" ")
        return cls(host, int(pid), start) if pid.isdecimal() else None

    @classmethod
    def of(cls, tags: Mapping[str, str]) -> "Process | None":
        """The maker of a run; None if somebody else made it."""
        return cls.parse(" ".join(tags.get(name, "") for name in ("host", "pid", "process_start")))

    def is_here(self) -> bool:
        return self.host == platform.node()

    def gone(self) -> bool:
        """Whether it ran on this host and has ended."""
        if not self.is_here():
            return False
        if self.start:
            return process_start(self.pid) != self.start
        try:
            os.kill(self.pid, 0)
        except (OSError, OverflowError):
            return True
        return False


def this_process() -> Process:
    return Process(platform.node(), os.getpid(), process_start(os.getpid()))


def process_start(pid: int) -> str:
    """When a process was started, since which boot; '' if there is no such process or no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    after_name = stat.rpartition(")")[2].split()
    return "" if after_name[0] == "Z" else f"{boot}:{after_name[19]}"
