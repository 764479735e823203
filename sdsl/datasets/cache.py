"""Keeps parsed tables as NPZ under the SHA-256 of what they were parsed from."""

import contextlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pooch

from sdsl.datasets.parse import Parsed
from sdsl.errors import UserError

VERSION = 1  # raise it when parsing changes, so that older entries are not used


def folder(setting: str | None, name: str) -> Path:
    """A sub-folder of the cache: `data.cache`, or the user's own."""
    path = Path(setting or pooch.os_cache("sdsl")) / name
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{path}: cannot make the cache folder ({error.strerror}). Set data.cache to a folder "
            "you may write to."
        ) from None
    return path


def cached(cache: str | None, key: str, make: Callable[[], Parsed]) -> Parsed:
    """The stored table under the key, or what `make` returns, stored for the next time."""
    path = folder(cache, "parsed") / f"v{VERSION}-{key}.npz"
    if (stored := _load(path)) is not None:
        return stored
    fresh = make()
    _save(path, fresh)
    return fresh


def _load(path: Path) -> Parsed | None:
    """None where there is no entry, or where a foreign hand has damaged it."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return Parsed(arrays["X"], arrays["y"], tuple(arrays["classes"].tolist()))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _save(path: Path, parsed: Parsed) -> None:
    """Written aside and moved in whole: a reader sees a complete entry or none."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    except OSError:
        return  # a cache that cannot be written to costs time, not the run
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, X=parsed.X, y=parsed.y, classes=np.array(parsed.classes, dtype=str))
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
