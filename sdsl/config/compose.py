"""Composing a config in Python: what `python -m sdsl.run key=value ...` would run."""

import functools
import os
from copy import deepcopy
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from sdsl.config import trust
from sdsl.config.home import home


def composed(*overrides: str) -> dict[str, Any]:
    """The resolved config of a command line, as a plain dict."""
    return deepcopy(_composed(overrides))


@functools.cache
def _composed(overrides: tuple[str, ...]) -> dict[str, Any]:
    os.environ.setdefault("SDSL_HOME", str(home()))  # conf/config.yaml reads it
    trust.install()
    running, GlobalHydra.instance().hydra = GlobalHydra.instance().hydra, None  # one at a time
    try:
        with initialize_config_dir(str(home() / "conf"), version_base="1.3"):
            return OmegaConf.to_container(compose("config", list(overrides)), resolve=True)  # type: ignore[return-value]
    finally:
        GlobalHydra.instance().hydra = running


def component(group: str, name: str, **changes: Any) -> Any:
    """A labeler, replay or probe as conf/ ships it, some values changed."""
    from sdsl.config.registry import BASES, make  # they load torch, which composing does not need

    section = composed(f"{group}={name}")[group]
    return make(group, merged(section, changes), BASES[group])


def merged(section: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A config section with changes laid over it, level by level."""
    return OmegaConf.to_container(OmegaConf.merge(section, changes))  # type: ignore[return-value]
