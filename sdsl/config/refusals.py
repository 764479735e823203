"""One sentence around the errors of pydantic and Hydra, with the name that may have been meant."""

import difflib
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import ValidationError
from yaml import MarkedYAMLError, YAMLError

from sdsl.errors import UserError

REFUSED = (
    UserError,
    HydraException,
    OmegaConfBaseException,
    YAMLError,
)  # mistakes in what was typed


def invalid(error: ValidationError, cls: type, where: str) -> UserError:
    """A sentence for each setting that pydantic refused; `where` is the section's dotted name."""
    known = [field.name for field in fields(cls)]
    sentences: dict[str, str] = {}  # of an int or a choice, pydantic refuses each
    for one in error.errors():
        name = ".".join([where, *map(str, one["loc"][:1])])
        if one["type"] == "unexpected_keyword_argument":
            key = str(one["loc"][-1])
            return UserError(f"{where} has no setting '{key}'. {suggest(key, known)}")
        if one["type"] == "missing":
            text = f"{name} has no value; set it in the YAML"
        else:
            text = f"{name}={one['input']!r:.80}: {one['msg']}".replace(": Input should", " should")
        if name in sentences:
            sentences[name] += f", or {one['msg'].removeprefix('Input should be ')}"
        else:
            sentences[name] = text.rstrip(".")
    return UserError(" ".join(f"{text}." for text in sentences.values()))


def message(error: BaseException) -> str:
    """The text of a refusal: ours, or Hydra's own with its cause and the name that was meant."""
    if isinstance(error, MarkedYAMLError) and (at := error.problem_mark):
        tab = " Indent with spaces, not with tabs." if "\\t" in str(error.problem) else ""
        return f"{at.name}, line {at.line + 1}: {error.problem}.{tab}"
    cause = error.__cause__
    text = [str(error).rstrip()]
    if isinstance(error, OverrideParseException):
        text.insert(0, f"Cannot read {error.override!r:.80}:")
    if isinstance(cause, OmegaConfBaseException):
        text.append(str(cause).rstrip())
        known = list(cause.parent_node) if OmegaConf.is_dict(cause.parent_node) else []
        if cause.key is not None and cause.key not in known:
            text.append(meant(str(cause.key), known))
    if isinstance(error, MissingConfigException) and error.options and error.missing_cfg_file:
        text.append(meant(error.missing_cfg_file.rpartition("/")[2], error.options))
    return "\n".join(filter(None, text))


def suggest(word: str, known: Iterable[Any]) -> str:
    """'Did you mean ...? Choices: ...', for every refusal of a name."""
    choices = sorted(map(str, known))
    return f"{meant(word, choices)}Choices: {', '.join(choices) or 'none'}."


def meant(word: str, known: Iterable[Any]) -> str:
    """'Did you mean 'ours'? ', or nothing if no known name is near."""
    close = difflib.get_close_matches(word, list(map(str, known)), n=1)
    return f"Did you mean '{close[0]}'? " if close else ""
