"""The config of a method for a stream without labels, and the parts that it names."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdsl.config import Parts, composed, parts
from sdsl.config.refusals import REFUSED, message
from sdsl.errors import UserError

SECTIONS = ("method", "labeler", "replay", "lookback", "learner", "stream")  # of a config
# The settings that a stream without labels has; the others belong to an evaluation.
SETTINGS = ("labeler", "replay", "lookback", "learner", "stream.scaler")


def method_config(
    method: str, overrides: Mapping[str, Any] | None, config_dir: str | Path | None
) -> dict[str, Any]:
    """The config that `python -m sdsl.run` would compose; refuses settings without effect."""
    words = [f"method={method}"]
    for key, value in (overrides or {}).items():
        if not key.startswith(SETTINGS):
            raise UserError(
                f"overrides: '{key}' has no effect on a stream without labels; expected settings "
                f"of {', '.join(SETTINGS)}."
            )
        words.append(f"{key}={json.dumps(value, ensure_ascii=False)}")
    folder = None if config_dir is None else Path(config_dir).expanduser()
    if folder is not None and not folder.is_dir():
        raise UserError(f"config_dir={config_dir}: no such folder.")
    try:
        return composed(*words, config_dir=None if folder is None else str(folder))
    except REFUSED as error:
        raise UserError(message(error)) from None


def blind_parts(config: Mapping[str, Any]) -> Parts:
    """The method's parts; refuses a method that reads true labels."""
    made = parts(config)
    if made.method.labeler.privileged:
        raise UserError(
            f"method={config['method']['name']} reads true labels, which a stream without labels "
            "does not have. Choose another, such as method=ours."
        )
    return made
