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
        for module in foreign(state["follower"]["config"], (*TRUSTED, *modules)):
            raise UserError(
                f"{path} names a class of the module {module}, which is not one of sdsl's. If you "
                f"trust it, name it: modules=['{module}']."
            )
        yield Follower.from_state(state["follower"]), state
    except (KeyError, TypeError, ValueError, AttributeError, ImportError, RuntimeError) as error:
        raise UserError(f"{path}: damaged ({type(error).__name__}: {error}).") from None


def foreign(config: Mapping[str, Any], trusted: Sequence[str] = TRUSTED) -> list[str]:
    """The modules of a config's classes that are not among the trusted ones or in them."""

    def inside(module: str) -> bool:
        return any(f"{module}.".startswith(f"{parent}.") for parent in trusted)

    modules = set()
    for target in re.findall(r'"_target_": "([^"]*)"', json.dumps(config)):
        module = target.rpartition(".")[0]
        if inside(module):  # perhaps the class is only imported there
            module = get_class(target).__module__
        modules.add(module)
    return sorted(module for module in modules if not inside(module))
