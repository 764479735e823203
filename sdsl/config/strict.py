"""Checks values against the types of a dataclass, strictly: 123 is no path, "no" is no switch.

OmegaConf converts such values without a word, so they are checked before it sees them.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any

from sdsl.config.suggest import suggest
from sdsl.errors import UserError

WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
    list: "a list",
    dict: "a group of settings",
}

MANY = {str: "texts", int: "whole numbers", float: "numbers"}


def check_value(cls: type, name: str, value: Any, where: str) -> None:
    """Refuses a value that is not of the type of the field `name`; `where` is its dotted name."""
    field = next(f for f in dataclasses.fields(cls) if f.name == name)
    if isinstance(value, str) and value == "???":  # how OmegaConf writes "to be set"
        asks = field.metadata.get("asks")
        raise UserError(f"{where} has no value: set {where}" + (f" to {asks}." if asks else "."))
    _check(_hints(cls)[name], value, where)


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    """The types of a dataclass; once, as they are looked up in its module by name."""
    return typing.get_type_hints(cls)


def _check(hint: Any, value: Any, where: str) -> None:
    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        known = [f.name for f in dataclasses.fields(hint)]
        for key, inner in value.items():
            if key not in known:
                raise UserError(f"{where} has no parameter '{key}'. {suggest(str(key), known)}")
            check_value(typing.cast(type, hint), key, inner, f"{where}.{key}")
    elif not _fits(hint, value):
        shown = "null" if value is None else repr(value)
        raise UserError(f"{where}={shown:.80}: expected {_words(hint)}.")


def _fits(hint: Any, value: Any) -> bool:
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(option, value) for option in inside)
    if origin is list:
        return isinstance(value, list | tuple) and all(_fits(inside[0], v) for v in value)
    if origin is dict:
        return isinstance(value, Mapping) and all(
            _fits(inside[0], k) and _fits(inside[1], v) for k, v in value.items()
        )
    if dataclasses.is_dataclass(hint):
        return False  # its mappings are checked one level up
    if hint is Any:
        return True
    if isinstance(value, bool):  # Python's True is also an int
        return hint is bool
    return isinstance(value, int | float) if hint is float else isinstance(value, hint)


def _words(hint: Any) -> str:
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_words(option) for option in inside)
    if dataclasses.is_dataclass(hint):
        return WORDS[dict]
    if origin is list:
        return f"a list of {MANY.get(inside[0], 'such entries')}"
    return WORDS[origin or hint]
