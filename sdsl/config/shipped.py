"""The settings that conf/ gives a method or a dataset: a run is named by how it differs from them.

Besides ours, `folders` may be searched: those of --config-dir, where somebody's own YAML files are.
"""

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sdsl.config.compose import composed
from sdsl.config.help import options
from sdsl.config.home import home
from sdsl.config.identity import flatten

LONGEST_VALUE = 6000  # MLflow keeps this many characters of a logged setting
INTERPOLATED = re.compile(r"\$\{\.(\w+)\}")  # ${.path_seed} in the name of a dataset
Folders = tuple[Path, ...]
Params = Mapping[str, str]


def as_logged(config: Mapping[str, Any]) -> dict[str, str]:
    """A config as the params of a run: flat, every value a string."""
    return {key: str(value)[:LONGEST_VALUE] for key, value in flatten(config).items()}


@functools.cache
def params(folders: Folders, *overrides: str) -> Params:
    """The logged settings of a command line; empty if conf/ does not have what it names."""
    places = ",".join(f'"file://{folder}"' for folder in (home(), *folders))
    own = [f"hydra.searchpath=[{places}]"] if folders else []
    try:
        return as_logged(composed(*overrides, *own))
    except (HydraException, OmegaConfBaseException):
        return {}


@functools.cache
def option(group: str, name: str, folders: Folders) -> str | None:
    """The YAML file that calls itself so: own/csv is 'own', dev/path 'dev_path_${.path_seed}'."""
    for choice, files in options(group, _all(folders)).items():
        pattern = ".*".join(map(re.escape, INTERPOLATED.split(_name(files[0]))[::2]))
        if pattern and re.fullmatch(pattern, name):
            return choice
    return None


def in_the_name(group: str, choice: str, folders: Folders) -> set[str]:
    """The settings that a name is made of: {'dataset.path_seed'}."""
    said = _name(options(group, _all(folders))[choice][0])
    return {f"{group}.{key}" for key in INTERPOLATED.findall(said)}


@functools.cache
def known_methods(folders: Folders = ()) -> tuple[str, ...]:
    """The methods of conf/, by name."""
    return tuple(options("method", _all(folders)))


@functools.cache
def parts_of(method: str, folders: Folders = ()) -> dict[str, str]:
    """{'labeler': 'robust', ...} as a method's file and those it builds on say; quick to read."""
    found: dict[str, str] = {}
    files = options("method", _all(folders)).get(method)
    for entry in _read(files[0]).get("defaults", []) if files else []:
        if isinstance(entry, str) and entry != "_self_":
            found |= parts_of(entry, folders)
        elif isinstance(entry, dict):
            found |= {str(k).removeprefix("override /"): str(v) for k, v in entry.items()}
    return found


def _all(folders: Folders) -> list[Path]:
    return [home() / "conf", *folders]


def _name(file: Path) -> str:
    return str(_read(file).get("name", ""))


def _read(file: Path) -> dict[str, Any]:
    try:
        read = OmegaConf.to_container(OmegaConf.load(file))
    except (OSError, ValueError, OmegaConfBaseException):
        return {}
    return read if isinstance(read, dict) else {}  # type: ignore[return-value]
