"""Composing a config in Python: what `python -m sdsl.run key=value ...` would run."""

import functools
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

import sdsl.config.sections  # noqa: F401  makes them known to Hydra


def home() -> Path:
    """The folder that holds conf/ and sweeps/: inside an installed package, else the repository."""
    package = Path(__file__).resolve().parents[1]
    return package if (package / "conf").is_dir() else package.parent


def user_cache() -> Path:
    """The folder of sdsl in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "sdsl")


def composed(*overrides: str, config_dir: str | None = None) -> dict[str, Any]:
    """The resolved config of a command line, as a plain dict; `config_dir` as in --config-dir."""
    return deepcopy(_composed(overrides, config_dir))


@functools.cache
def _composed(overrides: tuple[str, ...], config_dir: str | None) -> dict[str, Any]:
    os.environ.setdefault("SDSL_HOME", str(home()))  # conf/config.yaml reads it
    words = list(overrides)
    if config_dir is not None:
        folders = f'"file://{home()}","file://{os.path.abspath(config_dir)}"'
        words.append(f"hydra.searchpath=[{folders}]")
    running, GlobalHydra.instance().hydra = GlobalHydra.instance().hydra, None  # one at a time
    try:
        with initialize_config_dir(str(home() / "conf"), version_base="1.3"):
            return OmegaConf.to_container(compose("config", words), resolve=True)  # type: ignore[return-value]
    finally:
        GlobalHydra.instance().hydra = running
