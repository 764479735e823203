"""A follower in a file, alone or among other things.

The settings in it name the classes of the method's parts. Only sdsl's own, scikit-learn's and those
of modules that the reader names are made: a file cannot choose the code that reads it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra.utils import get_class

from sdsl.core.state import load_state, save_state
from sdsl.errors import UserError
from sdsl.use.follower import Follower

KIND = "StreamClassifier 2"  # with its version
TRUSTED = ("sdsl.core", "sdsl.labelers", "sdsl.replays", "sklearn")  # modules and those in them


def save(path: str | Path, follower: Follower, **more: Any) -> None:
    """Write one file, whole or not at all; `more` is plain data."""
    save_state(path, {"kind": KIND, "follower": follower.state(), **more})


@contextmanager
def loaded(path: str | Path, modules: Sequence[str] = ()) -> Iterator[tuple[Follower, Any]]:
    """(the follower of a file, all that the file holds); errors inside refuse the file."""
    state = load_state(path)
    if not isinstance(state, Mapping) or state.get("kind") != KIND:
        raise UserError(f"{path}: not the file of a {KIND}, as this version of sdsl writes it.")
    try:
        refuse_foreign(state["follower"]["config"], modules, path)
        yield Follower.from_state(state["follower"]), state
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise UserError(f"{path}: damaged ({type(error).__name__}: {error}).") from None


def own_modules(config: Mapping[str, Any]) -> list[str]:
    """The modules of components that are not sdsl's."""
    modules = {target.rpartition(".")[0] for target in _targets(config)}
    return sorted(name for name in modules if not _within(name, TRUSTED))


def refuse_foreign(config: Mapping[str, Any], modules: Sequence[str], path: str | Path) -> None:
    """Every class that the config names has to be made in a trusted module."""
    trusted = (*TRUSTED, *modules)
    for target in _targets(config):
        module = target.rpartition(".")[0]
        if _within(module, trusted):
            try:
                module = get_class(target).__module__  # another one, if it was only imported there
            except Exception as error:
                raise UserError(f"{path} names {target}, which is not here ({error}).") from None
        if not _within(module, trusted):
            raise UserError(
                f"{path} names a class of the module {module}, which is not one of sdsl's. If you "
                f"trust it, name it: modules=['{module}']."
            )


def _targets(config: Mapping[str, Any]) -> list[str]:
    """Every class that a config names."""
    return re.findall(r'"_target_": "([^"]*)"', json.dumps(config))


def _within(module: str, parents: Sequence[str]) -> bool:
    return any(f"{module}.".startswith(f"{parent}.") for parent in parents)
