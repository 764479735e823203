"""A dataclass from config values: every name, type and range is checked before anything runs."""

import copy
import dataclasses
import functools
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from sdsl.config.strict import check_value
from sdsl.config.suggest import suggest
from sdsl.errors import UserError

T = TypeVar("T")
MOST = 1_000  # sections that are remembered


_MADE: dict[tuple[type, str, str], Any] = {}  # sections of a sweep's jobs repeat each other


def build(cls: type[T], params: Mapping[str, Any], where: str) -> T:
    """An instance of the dataclass; `where` names it in a refusal."""
    key = cls, where, repr(params)
    if key not in _MADE:
        if len(_MADE) >= MOST:
            _MADE.clear()
        _MADE[key] = _build(cls, params, where)
    return copy.deepcopy(_MADE[key])


def _build(cls: type[T], params: Mapping[str, Any], where: str) -> T:
    known = [f.name for f in dataclasses.fields(cls) if f.init]  # type: ignore[arg-type]
    for key, value in params.items():
        if key not in known:
            raise UserError(f"{where} has no parameter '{key}'. {suggest(str(key), known)}")
        check_value(cls, key, value, f"{where}.{key}")
    try:
        merged = OmegaConf.merge(_blank(cls), dict(params))  # type: ignore[arg-type]
        made: T = OmegaConf.to_object(merged)  # type: ignore[assignment]
    except MissingMandatoryValue as error:
        raise UserError(f"{where}: {_missing(error)} has no value; set it in the YAML.") from None
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None) or ""
        raise UserError(f"{where}.{key}: {str(error).splitlines()[0]}") from None
    _check(made, where)
    return made


@functools.cache
def _blank(cls: type) -> DictConfig:
    """The dataclass as a config without values; once, as `merge` copies it before it writes."""
    return OmegaConf.structured(cls)


def _missing(error: MissingMandatoryValue) -> str:
    """The name of the value that is not there: OmegaConf has it in its message."""
    found = re.search(r"missing mandatory value: (\S+)", str(error))
    return found[1] if found else str(error).splitlines()[0]


def _check(made: Any, where: str) -> None:
    for f in dataclasses.fields(made):
        value, limits = getattr(made, f.name), f.metadata
        if dataclasses.is_dataclass(value):
            _check(value, f"{where}.{f.name}")
        options = limits.get("options")
        if options and value not in options:
            hint = suggest(str(value), options)
            raise UserError(f"{where}.{f.name}={value} is not a choice. {hint}")
        if "pattern" in limits and not re.fullmatch(limits["pattern"], str(value)):
            expected = limits["expected"]
            raise UserError(f"{where}.{f.name}={value} is not a choice. Choices: {expected}.")
        low, high = limits.get("low"), limits.get("high")
        inside = value is None or (
            (low is None or value >= low) and (high is None or value <= high)
        )
        if ("low" in limits or "high" in limits) and not inside:
            raise UserError(
                f"{where}.{f.name}={value} is out of range: expected "
                f"{'-inf' if low is None else low} to {'inf' if high is None else high}."
            )
