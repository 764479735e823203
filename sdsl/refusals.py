"""Hydra's and OmegaConf's refusals, said in one message that names the choices."""

from hydra.errors import MissingConfigException
from omegaconf import OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from sdsl.component import suggest


def message(error: BaseException) -> str:
    """What was wrong and what could be written instead; never a stack trace."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _missing(error)
    cause = error
    while cause.__cause__ is not None and not isinstance(cause, OmegaConfBaseException):
        cause = cause.__cause__
    if isinstance(cause, ConfigAttributeError | ConfigKeyError) and cause.parent_node is not None:
        known = [str(key) for key in cause.parent_node if key != "hydra"]
        where = OmegaConf.structured(cause.parent_node)._get_full_key(None) or "The config"
        return f"{where} has no parameter '{cause.key}'. {suggest(str(cause.key), known)}"
    lines = [_first(error)] + ([_first(cause)] if cause is not error else [])
    return ": ".join(line for line in lines if line) or type(error).__name__


def _missing(error: MissingConfigException) -> str:
    group, _, name = error.missing_cfg_file.rpartition("/")
    if not error.options or not group:
        return _first(error)
    return f"There is no {group} '{name}'. {suggest(name, error.options)}"


def _first(error: BaseException) -> str:
    """The first line that says something, without the pointers to Hydra's own documentation."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line and not line.startswith("See http")), "")
