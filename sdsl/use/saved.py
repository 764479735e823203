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
    names, params = getattr(model, "feature_names_in_", None), model.get_params()
    params["overrides"] = None if model.overrides is None else dict(model.overrides)
    params["config_dir"] = None if model.config_dir is None else str(model.config_dir)
    return {
        "kind": KIND,
        "version": VERSION,
        "params": params,
        "classes": {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()},
        "features": model.n_features_in_,
        "feature_names": None if names is None else list(map(str, names)),
        "columns": None if model.columns_ is None else model.columns_.plain(),
        "follower": model.follower_.state(),
    }


def from_state(cls: type[T], state: Any, path: str | Path, modules: Sequence[str]) -> T:
    """The model that `to_state` was given; path is named in refusals."""
    if not isinstance(state, Mapping) or state.get("kind") != KIND:
        raise UserError(f"{path}: not the file of a {KIND}.")
    if state.get("version") != VERSION:
        raise UserError(f"{path}: written by another version of sdsl; fit a new model.")
    try:
        _refuse_foreign(state["follower"]["config"], modules, path)
        model = cls(**state["params"])
        values, dtype = state["classes"]["values"], state["classes"]["dtype"]
        model.classes_ = np.array(values, dtype=np.dtype(dtype))
        model.n_features_in_ = state["features"]
        if state["feature_names"] is not None:
            model.feature_names_in_ = np.array(state["feature_names"], dtype=object)
        columns = state["columns"]
        model.columns_ = None if columns is None else Plan.from_plain(columns)
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
    allowed = (*TRUSTED, *modules)
    for target in _targets(config):
        module = target.rpartition(".")[0]
        if not _within(module, allowed):
            raise UserError(
                f"{path} names a class of the module {module}, which is not one of sdsl's. If you "
                f"trust it, name it: modules=['{module}']."
            )
        try:
            home = get_class(target).__module__
        except Exception as error:
            raise UserError(f"{path} names {target}, which is not here ({error}).") from None
        if not _within(home, allowed):  # a class that the module has merely imported
            raise UserError(f"{path} names {target}, which is not one of sdsl's classes.")


def _within(module: str, parents: Sequence[str]) -> bool:
    return any(module == parent or module.startswith(f"{parent}.") for parent in parents)
