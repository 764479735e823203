"""The configs of exported runs, one per group of seeds: configs.json.xz, {group_key: config}."""

import json
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdsl.errors import UserError

FILE = "configs.json.xz"  # configs repeat one another: 160 of them take a few KB
Configs = Mapping[str, dict[str, Any]]  # group_key -> config; its seeds are those of one run


def write(configs: Configs, folder: Path) -> None:
    text = json.dumps(configs, sort_keys=True)
    (folder / FILE).write_bytes(lzma.compress(text.encode()))


def read(folder: Path) -> Configs:
    """Exports of older versions have none."""
    file = folder / FILE
    if not file.exists():
        return {}
    try:
        return json.loads(lzma.decompress(file.read_bytes()))
    except (lzma.LZMAError, ValueError) as error:
        raise UserError(f"{file} cannot be read ({error}).") from None
