"""A model as plain data: parameters, classes, columns, and the follower with its settings.

The settings name the classes of the method's parts. Only sdsl's own, scikit-learn's and those of
modules that the reader names are made: a file cannot choose the code that reads it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from hydra.utils import get_class

from sdsl.datasets.columns import Plan
from sdsl.errors import UserError
from sdsl.use.follower import Follower

if TYPE_CHECKING:
    from sdsl.estimator import StreamClassifier

T = TypeVar("T", bound="StreamClassifier")
KIND, VERSION = "StreamClassifier", 1
TRUSTED = ("sdsl.core", "sdsl.labelers", "sdsl.replays", "sklearn")  # modules and those in them


def to_state(model: "StreamClassifier") -> dict[str, Any]:
    """All of a fitted model; `from_state` makes it again."""
    names, folder = getattr(model, "feature_names_in_", None), model.config_dir
    plain = {"overrides": model.overrides and dict(model.overrides), "seed": int(model.seed)}
    return {
        "kind": KIND,
        "version": VERSION,
        "params": {"method": model.method, "config_dir": folder and str(folder)} | plain,
        "classes": {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()},
        "features": model.n_features_in_,
        "feature_names": None if names is None else list(map(str, names)),
        "columns": model.columns_ and model.columns_.plain(),
        "follower": model.follower_.state(),
    }


def from_state(cls: type[T], state: Any, path: str | Path, modules: Sequence[str]) -> T:
    """The model that `to_state` was given; path is named in refusals."""
    known = isinstance(state, Mapping) and state.get("kind") == KIND
    if not known or state.get("version") != VERSION:
        raise UserError(f"{path}: not the file of a {KIND} of this version of sdsl.")
    try:
        _refuse_foreign(state["follower"]["config"], modules, path)
        model = cls(**state["params"])
        values, dtype = state["classes"]["values"], state["classes"]["dtype"]
        model.classes_ = np.array(values, dtype=np.dtype(dtype))
        model.n_features_in_ = state["features"]
        if state["feature_names"] is not None:
            model.feature_names_in_ = np.array(state["feature_names"], dtype=object)
        model.columns_ = state["columns"] and Plan.from_plain(state["columns"])
        model.follower_ = Follower.from_state(state["follower"])
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise UserError(f"{path}: damaged ({type(error).__name__}: {error}).") from None
    return model


def own_modules(config: Mapping[str, Any]) -> list[str]:
    """The modules of components that are not sdsl's."""
    modules = {target.rpartition(".")[0] for target in _targets(config)}
    return sorted(name for name in modules if not _within(name, TRUSTED))


def _targets(config: Mapping[str, Any]) -> list[str]:
    """Every class that a config names."""
    return re.findall(r'"_target_": "([^"]*)"', json.dumps(config))


def _refuse_foreign(config: Mapping[str, Any], modules: Sequence[str], path: str | Path) -> None:
    for target in _targets(config):
        module = target.rpartition(".")[0]
        try:  # the module of the class itself: others may have imported it
            if _within(module, (*TRUSTED, *modules)):
                module = get_class(target).__module__
        except Exception as error:
            raise UserError(f"{path} names {target}, which is not here ({error}).") from None
        if not _within(module, (*TRUSTED, *modules)):
            raise UserError(
                f"{path} names a class of the module {module}, which is not one of sdsl's. If you "
                f"trust it, name it: modules=['{module}']."
            )


def _within(module: str, parents: Sequence[str]) -> bool:
    return any(f"{module}.".startswith(f"{parent}.") for parent in parents)
