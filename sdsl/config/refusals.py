"""Hydra's and OmegaConf's refusals, said in one message that names the choices."""

import re
import traceback
from collections.abc import Sequence

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from sdsl.config.suggest import suggest
from sdsl.errors import UserError

# What fails in here fails for what was written in a config or on the line, whatever its type: a
# YAML file that is no YAML, a number of 5,000 digits.
READERS = ("hydra.core.override_parser", "hydra._internal.config_loader_impl")


def check_flags(words: Sequence[str]) -> None:
    """Hydra's own refusal of two flags is a stack trace."""
    if {"-m", "--multirun"} & set(words) and {"--cfg", "-c"} & set(words):
        raise UserError(
            "--cfg shows the config of one run, and a sweep has one per job. Leave out -m (or "
            "--multirun) and give each key one value: that is the config of that job."
        )


def refused(error: BaseException) -> bool:
    """Whether the config or the command line is to blame, and not the code."""
    if isinstance(error, UserError | HydraException | OmegaConfBaseException):
        return True
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(frame.f_globals.get("__name__", "").startswith(READERS) for frame in frames)


def message(error: BaseException) -> str:
    """What was wrong and what could be written instead; never a stack trace."""
    ours = _our_own(error)
    if ours is not None:
        return str(ours)
    if isinstance(error, OverrideParseException):
        return f"Cannot read '{error.override}': {_first(error)}. Expected key=value."
    if isinstance(error, MissingConfigException) and error.options is not None:
        return _missing(error)
    cause = error
    while cause.__cause__ is not None and not isinstance(cause, OmegaConfBaseException):
        cause = cause.__cause__
    if isinstance(cause, ConfigAttributeError | ConfigKeyError) and cause.parent_node is not None:
        return _unknown(cause)
    text = _first(error)
    if found := re.match(r"In 'method/(.+)': Could not override '\w+@method\.", text):
        return (
            f"The file of method={found[1]} overrides another section from inside 'method'. Let "
            "its first line be '# @package _global_', as in every method of conf/."
        )
    if text.startswith(("Ambiguous value", "Sweep parameters")):
        return f"{text.removesuffix(' requires --multirun')}: add -m to sweep over the values."
    more = _first(cause) if cause is not error else ""
    return ": ".join(part for part in (text, more) if part) or type(error).__name__


def _our_own(error: BaseException | None) -> UserError | None:
    """A refusal of ours inside Hydra's: of a launcher's settings, for example."""
    while error is not None and not isinstance(error, UserError):
        error = error.__cause__
    return error


def _missing(error: MissingConfigException) -> str:
    group, _, name = (error.missing_cfg_file or "").rpartition("/")
    return f"There is no {group} '{name}'. {suggest(name, error.options or ())}"


def _unknown(error: ConfigAttributeError | ConfigKeyError) -> str:
    where = error.parent_node._get_full_key(None) or "The config"
    known = [str(key) for key in error.parent_node if key != "hydra"]
    return f"{where} has no parameter '{error.key}'. {suggest(str(error.key), known)}"


def _first(error: BaseException) -> str:
    """The first line that says something."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line), "")
