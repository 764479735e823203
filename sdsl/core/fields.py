"""The settings of a component: fields that say name, type and range; values live in YAML."""

import dataclasses
from typing import Any


def setting() -> Any:
    """A field whose type says all: a switch, a list, a group of settings."""
    return dataclasses.field()


def number(low: float | None = None, high: float | None = None) -> Any:
    """A field that must lie in [low, high]."""
    return dataclasses.field(metadata={"low": low, "high": high})


def choice(*options: str) -> Any:
    """A field that must be one of the options."""
    return dataclasses.field(metadata={"options": options})


def word(pattern: str, expected: str) -> Any:
    """A text field that must match a pattern; `expected` says so in words."""
    return dataclasses.field(metadata={"pattern": pattern, "expected": expected})
