"""What a run is called: its method and its dataset, and the settings that are not those of conf/.

A run of a method as conf/ has it is called by the method's name: 'ours'. Any setting that differs
is added: 'ours (labeler=confidence)'. Settings are compared as the ledger logs them, as strings.
"""

import functools
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from sdsl.config.compose import composed
from sdsl.config.home import home
from sdsl.config.identity import METHOD, STREAM, flatten, settings

LONGEST_VALUE = 6000  # MLflow keeps this many characters of a logged setting
METHOD_NAME, DATASET_NAME = "method.name", "dataset.name"
# Settings that make another method although they stand in another section: how its inputs are
# scaled, and Acc_T over fewer columns of R, which is another number. (eval.every only adds rows
# of R that the metrics do not need.)
ALSO_METHOD = ("stream.scaler", "eval.columns")
# Tables show these beside a stream's name: the setting, and the number of segments T.
SHOWN_BESIDE_THE_NAME = ("stream.prefix", "stream.max_segments", "dataset.calibrated_segments")


def method_label(method: str, params: Mapping[str, str]) -> str:
    """'ours', or 'ours (labeler=confidence)'. `params`: the run's settings as logged.

    A run with the settings of another method is called by that method's name. A method that conf/
    does not have keeps its name, whatever its settings.
    """
    chosen = method_settings(params)
    shipped = shipped_method(method)
    if not shipped or not differences(chosen, shipped):
        return method
    for other in known_methods():
        if not differences(chosen, shipped_method(other)):
            return other
    parts = []
    for group in ("labeler", "replay"):
        name = chosen.get(f"{group}.name")
        if name != shipped.get(f"{group}.name"):
            parts.append(f"{group}={name}")
    # Another labeler or replay brings its own settings. Only those that were changed are named.
    base = shipped_method(method, *parts) or shipped
    parts += _named(differences(chosen, base))
    return f"{method} ({', '.join(parts)})" if parts else method


def stream_label(dataset: str, params: Mapping[str, str]) -> str:
    """'spam', or 'spam (order=chronological)'. `params`: the run's settings as logged."""
    shipped = shipped_stream(dataset)
    if not shipped:
        return dataset
    parts = _named(differences(stream_settings(params), shipped))
    return f"{dataset} ({', '.join(parts)})" if parts else dataset


def config_sha256(params: Mapping[str, str]) -> str:
    """A name for a method on a stream: the same for every seed and probe, in every store."""
    config = settings(params, (*METHOD, *STREAM)) | method_settings(params)
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def differences(chosen: Mapping[str, str], shipped: Mapping[str, str]) -> dict[str, str]:
    """The settings of a run that conf/ has otherwise.

    A setting that did not exist yet when an older run was made is no difference.
    """
    return {key: value for key, value in chosen.items() if shipped.get(key) != value}


def method_settings(params: Mapping[str, str]) -> dict[str, str]:
    """The settings that make a method. Its name is none of them: a label may be another name."""
    chosen = {k: v for k, v in settings(params, METHOD).items() if k != METHOD_NAME}
    return chosen | {key: params[key] for key in ALSO_METHOD if key in params}


def stream_settings(params: Mapping[str, str]) -> dict[str, str]:
    """The settings that make a stream, without what is shown beside its name."""
    hidden = (DATASET_NAME, *SHOWN_BESIDE_THE_NAME, *ALSO_METHOD)
    return {k: v for k, v in settings(params, STREAM).items() if k not in hidden}


def as_logged(config: Mapping[str, Any]) -> dict[str, str]:
    """A config as the params of a run: flat, every value a string."""
    return {key: str(value)[:LONGEST_VALUE] for key, value in flatten(config).items()}


@functools.cache
def shipped_method(method: str, *changes: str) -> Mapping[str, str]:
    """The settings of `method=<method> <changes>`; empty if conf/ has no such method."""
    return method_settings(_composed_params(f"method={method}", *changes))


@functools.cache
def shipped_stream(dataset: str) -> Mapping[str, str]:
    """The settings of `dataset=<dataset>`; empty if conf/ has no such dataset."""
    return stream_settings(_composed_params(f"dataset={dataset}"))


@functools.cache
def known_methods() -> tuple[str, ...]:
    """The methods of conf/, by name."""
    return tuple(sorted(file.stem for file in (home() / "conf" / "method").glob("*.yaml")))


def _composed_params(*overrides: str) -> dict[str, str]:
    try:
        return as_logged(composed(*overrides))
    except (HydraException, OmegaConfBaseException):
        return {}


def _named(changed: Mapping[str, str]) -> list[str]:
    return [f"{key.removeprefix('dataset.')}={value}" for key, value in sorted(changed.items())]
