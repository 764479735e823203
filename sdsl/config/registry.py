"""Components found by being there: conf/<group>/<name>.yaml names a file, the file holds one class.

`name: confidence` in the labeler group is the one Labeler in sdsl/labelers/confidence.py; a dotted
name (`name: mypackage.mine`) is a module of your own. Parameters are the class's dataclass fields.
"""

import importlib
import os
import pkgutil
import re
import sys
import sysconfig
from collections.abc import Mapping
from typing import Any, TypeVar

from sdsl.config.build import build
from sdsl.config.suggest import suggest
from sdsl.core.contract import Labeler, Replay
from sdsl.core.probe import Probe
from sdsl.errors import UserError

T = TypeVar("T")
BASES: dict[str, type] = {"labeler": Labeler, "replay": Replay, "probe": Probe}


def module_name(group: str, name: str) -> str:
    """The module that a component's name stands for."""
    return name if "." in name else f"sdsl.{group}s.{name}"


def own_modules(config: Mapping[str, Any]) -> list[str]:
    """Modules outside sdsl that the config's components come from."""
    names = [str(config[group]["name"]) for group in ("labeler", "replay")]
    return [name for name in names if "." in name]


def find(group: str, name: Any, base: type[T]) -> type[T]:
    """The one subclass of base defined in the module that `name` stands for."""
    home = importlib.import_module(f"sdsl.{group}s")
    known = [m.name for m in pkgutil.iter_modules(home.__path__)]
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name):
        raise UserError(f"{group}.name={name!r} is not a module name. {suggest(str(name), known)}")
    if "." not in name and name not in known:
        raise UserError(f"There is no {group} '{name}'. {suggest(name, known)}")
    path = module_name(group, name)
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        raise UserError(f"{group}.name={name}: {error}. {_searched()}") from None
    found = [
        c
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, base) and c.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise UserError(f"{path} must define exactly one {base.__name__}, it has {len(found)}.")
    return found[0]


def _searched() -> str:
    """Where Python looked for a module: the folders of people, not those of Python itself."""
    library = sysconfig.get_path("stdlib")
    folders = [path or os.getcwd() for path in sys.path]
    own = [path for path in folders if not path.startswith(library) and os.path.isdir(path)]
    return f"Is the package installed? Python looked in: {', '.join(dict.fromkeys(own))}."


def make(group: str, config: Mapping[str, Any], base: type[T]) -> T:
    """Config {name: ..., **parameters} to a checked component."""
    params = {k: v for k, v in config.items() if k != "name"}
    return build(find(group, config.get("name"), base), params, f"{group}={config.get('name')}")
