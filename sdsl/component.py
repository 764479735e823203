"""Components found by being there: conf/<group>/<name>.yaml names a file, the file holds one class.

`name: confidence` in the labeler group is the one Labeler in sdsl/labelers/confidence.py; a dotted
name (`name: mypackage.mine`) is a module of your own. Parameters are the class's dataclass fields.
"""

import dataclasses
import difflib
import importlib
import pkgutil
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sdsl.errors import UserError

T = TypeVar("T")


def number(default: float, low: float | None = None, high: float | None = None) -> Any:
    """A dataclass field that must lie in [low, high]."""
    return dataclasses.field(default=default, metadata={"low": low, "high": high})


def choice(*options: str) -> Any:
    """A dataclass field that must be one of the options; the first is the default."""
    return dataclasses.field(default=options[0], metadata={"options": options})


def build(cls: type[T], params: Mapping[str, Any], where: str) -> T:
    """An instance of a dataclass from config values, every name, type and range checked."""
    known = [f.name for f in dataclasses.fields(cls) if f.init]
    for key in params:
        if key not in known:
            raise UserError(f"{where} has no parameter '{key}'. {suggest(str(key), known)}")
    try:
        merged = OmegaConf.merge(OmegaConf.structured(cls), dict(params))
        made = OmegaConf.to_object(merged)
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None) or ""
        raise UserError(f"{where}.{key}: {str(error).splitlines()[0]}") from None
    _check(made, where)
    return made


def _check(made: Any, where: str) -> None:
    for f in dataclasses.fields(made):
        value, limits = getattr(made, f.name), f.metadata
        if dataclasses.is_dataclass(value):
            _check(value, f"{where}.{f.name}")
        options = limits.get("options")
        if options and value not in options:
            hint = suggest(str(value), options)
            raise UserError(f"{where}.{f.name}={value} is not a choice. {hint}")
        low, high = limits.get("low"), limits.get("high")
        inside = value is None or (
            (low is None or value >= low) and (high is None or value <= high)
        )
        if ("low" in limits or "high" in limits) and not inside:
            raise UserError(
                f"{where}.{f.name}={value} is out of range: expected "
                f"{'-inf' if low is None else low} to {'inf' if high is None else high}."
            )


def find(group: str, name: str, base: type[T]) -> type[T]:
    """The one subclass of base defined in the module that `name` stands for."""
    home = f"sdsl.{group}s"
    known = [m.name for m in pkgutil.iter_modules(importlib.import_module(home).__path__)]
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name):
        raise UserError(f"{group}.name={name!r} is not a module name. {suggest(str(name), known)}")
    if "." not in name and name not in known:
        raise UserError(f"There is no {group} '{name}'. {suggest(name, known)}")
    path = name if "." in name else f"{home}.{name}"
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        raise UserError(f"{group}.name={name}: {error}. Is the package installed?") from None
    found = [
        c
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, base) and c.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise UserError(f"{path} must define exactly one {base.__name__}, it has {len(found)}.")
    return found[0]


def make(group: str, config: Mapping[str, Any], base: type[T]) -> T:
    """Config {name: ..., **parameters} to a checked component."""
    params = {k: v for k, v in config.items() if k != "name"}
    return build(find(group, config.get("name"), base), params, f"{group}={config.get('name')}")


def suggest(word: str, known) -> str:
    """'Did you mean ...? Choices: ...', for every refusal of a name."""
    close = difflib.get_close_matches(word, list(known), n=1)
    hint = f"Did you mean '{close[0]}'? " if close else ""
    return f"{hint}Choices: {', '.join(sorted(known)) or 'none'}."
