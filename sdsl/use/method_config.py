"""A method and its overrides as a config: the same one that `python -m sdsl.run` would compose."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdsl.config import refusals
from sdsl.config.compose import composed
from sdsl.config.home import home
from sdsl.config.schema import Setup, setup
from sdsl.config.suggest import suggest
from sdsl.errors import UserError
from sdsl.use.sections import SECTIONS


def method_config(
    method: str, overrides: Mapping[str, Any] | None, config_dir: str | Path | None
) -> dict[str, Any]:
    """The composed config; refuses what a stream without labels cannot use."""
    words = [f"method={method}", "dataset=own/table"]
    for key, value in (overrides or {}).items():
        if not str(key).startswith(SECTIONS):
            raise UserError(
                f"overrides: '{key}' has no effect on a stream without labels. "
                f"{suggest(str(key), SECTIONS)}"
            )
        words.append(f"{key}={written(value)}")
    if config_dir is not None:
        folder = Path(config_dir).expanduser().resolve()
        if not folder.is_dir():
            raise UserError(f"config_dir={config_dir}: no such folder.")
        words.append(f"hydra.searchpath=[file://{home()},file://{folder}]")
    try:
        return composed(*words)
    except Exception as error:
        if not refusals.refused(error):
            raise
        raise UserError(refusals.message(error)) from None


def method_setup(config: Mapping[str, Any]) -> Setup:
    """The config built and checked; refuses methods that read true labels."""
    made = setup(config)
    if made.method.labeler.privileged:
        raise UserError(
            f"method={made.name} reads true labels, which a stream without labels does not have. "
            "Choose another, such as method=ours; python -m sdsl.run --help lists them."
        )
    return made


def written(value: Any) -> str:
    """A value as Hydra's command line reads it."""
    if isinstance(value, str):
        plain = value.replace("_", "").replace(".", "").replace("-", "").isalnum()
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{k}:{written(v)}' for k, v in value.items())}}}"
    return (
        "null"
        if value is None
        else str(value).lower()
        if value is True or value is False
        else str(value)
    )
