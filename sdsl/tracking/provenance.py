"""Where a run was made: git commit and diff, library versions, machine, process."""

import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
CODE = ("sdsl", "conf", "sweeps", "pyproject.toml")  # a changed README makes no run dirty
LIBRARIES = {
    "torch": "torch",
    "numpy": "numpy",
    "sklearn": "scikit-learn",
    "mlflow": "mlflow",
    "hydra": "hydra-core",
}
job = {"sweep": "none", "job": "0"}  # of a sweep: its process, and which of its jobs this is


@functools.lru_cache
def tags() -> dict[str, str]:
    """Tags that every run of this process shares."""
    versions = {tag: importlib.metadata.version(name) for tag, name in LIBRARIES.items()}
    sha = _git("rev-parse", "HEAD").strip() or "none"
    return {
        **versions,
        "mlflow.source.git.commit": sha,  # the UI's column "Version"
        "python": platform.python_version(),
        "git_sha": sha,
        "dirty": str(bool(diff())).lower(),
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "threads": "1",  # sdsl.experiment sets it, whatever the environment says
        "host": platform.node(),
        "pid": str(os.getpid()),
        "process_start": process_start(os.getpid()),
    }


@functools.lru_cache
def diff() -> str:
    """What differs from the commit in files that matter, untracked ones by name; '' if nothing."""
    status = _git("status", "--porcelain", "--", *CODE)
    return status + _git("diff", "HEAD", "--", *CODE) if status else ""


@functools.lru_cache
def packages() -> str:
    """What `pip freeze` would say."""
    found = {d.name: d.version for d in importlib.metadata.distributions() if d.name}
    return "".join(f"{name}=={found[name]}\n" for name in sorted(found, key=str.lower))


def process_start(pid: int) -> str:
    """Names one process for good, as pids come round again; '' if there is none, or no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    after_name = stat.rpartition(")")[2].split()
    return "" if after_name[0] == "Z" else f"{boot}:{after_name[19]}"


def process() -> str:
    """This very process, among all of all machines."""
    return " ".join(tags()[name] for name in ("host", "pid", "process_start"))


def gone(process: str) -> bool:
    """Whether it was one of this host, and has ended."""
    host, _, rest = process.partition(" ")
    pid, _, start = rest.partition(" ")
    if host != tags()["host"]:
        return False
    if start:
        return process_start(int(pid)) != start
    try:
        os.kill(int(pid), 0)
    except (OSError, OverflowError):
        return True
    return False


def _git(*words: str) -> str:
    if not (HOME / ".git").exists():  # installed: a repository around the environment is not ours
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(HOME), *words], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
