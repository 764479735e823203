"""From YAML and the command line to checked, typed objects.

All but `composed` load torch, so they are imported when they are first asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

from sdsl.config.compose import composed

if TYPE_CHECKING:
    from sdsl.config.schema import Names, Parts, Setup, component, names, parts, setup

__all__ = ["Names", "Parts", "Setup", "component", "composed", "names", "parts", "setup"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'sdsl.config' has no attribute '{name}'")
    return getattr(importlib.import_module("sdsl.config.schema"), name)
