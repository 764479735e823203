"""Provenance of a run: git commit and changes, library versions, machine and user."""

import functools
import importlib.metadata
import platform
import subprocess
from pathlib import Path

import llvmlite.binding

HOME = Path(__file__).parents[2]  # of the repository, where there is one
CODE = ("sdsl", "conf", "sweeps", "pyproject.toml")  # a changed README makes no run dirty
LIBRARIES = ("torch", "numpy", "numba", "scipy", "scikit-learn", "mlflow", "hydra-core")


@functools.lru_cache
def tags() -> dict[str, str]:
    """Tags that all runs of this process share; MLflow shows those with its prefix in columns."""
    sha = _git("rev-parse", "HEAD").strip() or "none"
    return {
        **{name: importlib.metadata.version(name) for name in LIBRARIES},
        "python": platform.python_version(),
        "git_sha": sha,
        "dirty": str(bool(diff())).lower(),
        "cpu": _cpu(),
        "host": platform.node(),
        "mlflow.user": Path.home().name,
        "mlflow.source.name": "sdsl",
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": sha,
    }


@functools.lru_cache
def diff() -> str:
    """The changes since the commit in files that matter, untracked ones by name; '' if none."""
    status = _git("status", "--porcelain", "--", *CODE)
    return status + _git("diff", "HEAD", "--", *CODE) if status else ""


@functools.lru_cache
def packages() -> str:
    """The output of `pip freeze`."""
    versions = {d.name: d.version for d in importlib.metadata.distributions() if d.name}
    return "".join(f"{name}=={versions[name]}\n" for name in sorted(versions, key=str.lower))


def _git(*words: str) -> str:
    if not (HOME / ".git").exists():  # installed: a repository around the environment is not ours
        return ""
    try:
        return subprocess.check_output(
            ["git", *words], cwd=HOME, text=True, stderr=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return ""


def _cpu() -> str:
    """Its name, and the kind that compilers see: the last bits of numbers depend on it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name} ({llvmlite.binding.get_host_cpu_name()})"
