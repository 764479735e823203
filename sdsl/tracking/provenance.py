"""Where a run was made: its sweep, git commit and diff, library versions, machine, process."""

import functools
import importlib.metadata
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding

from sdsl.config.home import home
from sdsl.tracking.process import this_process

CODE = ("sdsl", "conf", "sweeps", "pyproject.toml")  # a changed README makes no run dirty
LIBRARIES = {
    "torch": "torch",
    "numpy": "numpy",
    "numba": "numba",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "mlflow": "mlflow",
    "hydra": "hydra-core",
}


@dataclass(frozen=True)
class JobTags:
    """Which job of which sweep makes a run."""

    sweep: str  # the process that started the sweep
    job: int  # counted from 0
    waits: bool  # for runs that another process makes; else the job is put off

    def tags(self) -> dict[str, str]:
        return {"sweep": self.sweep, "job": str(self.job)}


ALONE = JobTags("none", 0, True)  # a single run


@functools.lru_cache
def tags() -> dict[str, str]:
    """Tags that every run of this process shares."""
    versions = {tag: importlib.metadata.version(name) for tag, name in LIBRARIES.items()}
    sha = _git("rev-parse", "HEAD").strip() or "none"
    me = this_process()
    return {
        **versions,
        "mlflow.source.git.commit": sha,  # the UI's column "Version"
        "python": platform.python_version(),
        "git_sha": sha,
        "dirty": str(bool(diff())).lower(),
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "threads": "1",  # sdsl.experiment sets it, whatever the environment says
        "host": me.host,
        "pid": str(me.pid),
        "process_start": me.start,
    }


@functools.lru_cache
def diff() -> str:
    """What differs from the commit in files that matter, untracked ones by name; '' if nothing."""
    status = _git("status", "--porcelain", "--", *CODE)
    return status + _git("diff", "HEAD", "--", *CODE) if status else ""


@functools.lru_cache
def packages() -> str:
    """What `pip freeze` would say."""
    versions = {d.name: d.version for d in importlib.metadata.distributions() if d.name}
    return "".join(f"{name}=={versions[name]}\n" for name in sorted(versions, key=str.lower))


def _git(*words: str) -> str:
    folder = home()
    if not (folder / ".git").exists():  # installed: a repository around the environment is not ours
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _cpu() -> str:
    """Its name and, as one name may stand for several, what compilers call it: bits hang on it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name} ({llvmlite.binding.get_host_cpu_name()})"
