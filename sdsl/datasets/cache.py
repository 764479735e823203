"""Keeps parsed tables as NPZ under the SHA-256 of what they were parsed from."""

import contextlib
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

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


def cached_file(cache: str | None, source: Path, name: str, make: Callable[[Path], bytes]) -> Path:
    """A file derived from a large one, made once for each content of that one."""
    try:
        with open(source, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{source}: cannot read this file ({error.strerror}).") from None
    path = folder(cache, "derived") / f"v{VERSION}-{digest}-{name}"
    if not path.exists():
        data = make(source)
        _write(path, lambda file: file.write(data))
    return path


def _save(path: Path, parsed: Parsed) -> None:
    classes = np.array(parsed.classes, dtype=str)
    # A cache that cannot be written to costs time, not the run.
    with contextlib.suppress(OSError):
        _write(path, lambda file: np.savez(file, X=parsed.X, y=parsed.y, classes=classes))


def _write(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Written aside and moved in whole: a reader sees a complete file or none."""
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            fill(file)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
