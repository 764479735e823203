"""What a run is called: its method while its settings are the method's own, else what differs."""

import functools
import hashlib
import json
import os
from collections.abc import Mapping

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sdsl.config.compose import home
from sdsl.report.runs.names import ALIASES
from sdsl.tracking.ledger import flatten

# Sections that make a method; the stream's own settings name the stream instead. eval.every is
# left out: it decides which rows of R are measured beside those that the metrics need.
METHOD = ("learner.", "labeler.", "replay.", "lookback.", "eval.columns")
STREAM = ("dataset.", "stream.")
SHOWN_APART = ("stream.prefix", "stream.max_segments", "dataset.name")
WHERE_FROM = ("dataset.expect", "dataset.sources", "dataset.calibrated_segments")


def method_label(method: str, params: Mapping[str, str]) -> str:
    """'ours', or 'ours (labeler=confidence)'; a run equal to another method's own is that method.

    A method that conf/ does not know keeps its name; newest() then keeps its versions apart.
    """
    own = {key: value for key, value in params.items() if key.startswith(METHOD)}
    if not (plain := defaults(method)):
        return method
    if not differences(own, plain):
        return method
    for other in known_methods():
        if not differences(own, defaults(other)):
            return other
    parts = []
    for group in ("labeler", "replay"):
        name = own.get(f"{group}.name")
        if name != plain.get(f"{group}.name"):
            parts.append(f"{group}={name}")
    # Against the defaults of the parts that were chosen: their own parameters are no news.
    base = defaults(method, *parts) or plain
    parts += [f"{key}={value}" for key, value in sorted(differences(own, base).items())]
    label = f"{method} ({', '.join(parts)})" if parts else method
    alias = ALIASES.get(label, label)
    return label if alias in known_methods() else alias


def stream_label(dataset: str, params: Mapping[str, str]) -> str:
    """'spam', or 'spam (order=chronological)'."""
    own = {k: v for k, v in params.items() if k.startswith(STREAM)}
    own = {k: v for k, v in own.items() if not k.startswith((*SHOWN_APART, *WHERE_FROM))}
    base = defaults(f"dataset={dataset}", sections=STREAM)
    if not base:
        return dataset
    parts = [
        f"{key.removeprefix('dataset.')}={value}"
        for key, value in sorted(differences(own, base).items())
    ]
    return f"{dataset} ({', '.join(parts)})" if parts else dataset


def differences(own: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """Settings of a run that are not the default; one that did not exist then is no difference."""
    return {key: value for key, value in own.items() if base.get(key) != value}


def config_sha256(params: Mapping[str, str]) -> str:
    """Names a config: method and stream settings, whatever the seed, the probe and the store."""
    own = {k: v for k, v in params.items() if k.startswith((*METHOD, *STREAM, "method."))}
    own = {k: v for k, v in own.items() if not k.startswith(WHERE_FROM)}
    return hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()


@functools.cache
def defaults(choice: str, *more: str, sections: tuple[str, ...] = METHOD) -> dict[str, str]:
    """The settings of `method=<choice> <more>` as logged params; empty if conf/ has no such one."""
    os.environ.setdefault("SDSL_HOME", str(home()))
    choice = choice if "=" in choice else f"method={choice}"
    try:
        with initialize_config_dir(str(home() / "conf"), version_base="1.3"):
            config = OmegaConf.to_container(compose("config", [choice, *more]), resolve=True)
    except (HydraException, OmegaConfBaseException):
        return {}
    return {key: value for key, value in flatten(config).items() if key.startswith(sections)}


@functools.cache
def known_methods() -> tuple[str, ...]:
    return tuple(sorted(file.stem for file in (home() / "conf" / "method").glob("*.yaml")))
