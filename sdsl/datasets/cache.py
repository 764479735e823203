"""Keeps parsed tables, and files derived from large ones, under the SHA-256 of their source."""

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
from sdsl.datasets.unpack import open_regular
from sdsl.errors import UserError

VERSION = 3  # raise it when reading changes, so that older entries are not used
TEXTS = ("classes", "features", "notes")  # of Parsed


def folder(setting: str | None, name: str) -> Path:
    """A sub-folder of the cache: `data.cache`, or the user's own."""
    try:
        path = Path(setting or pooch.os_cache("sdsl")).expanduser() / name
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError, RuntimeError) as error:  # a zero byte; ~name of nobody
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"{setting or 'the cache'}: cannot make the cache folder ({reason}). Set data.cache to "
            "a folder you may write to."
        ) from None
    return path


def cached_rows(cache: str | None, sha256: str, how: str, make: Callable[[], Parsed]) -> Parsed:
    """The rows stored for these bytes, or what `make` returns, stored for the next time.

    The file's name holds all that the rows depend on: the bytes and how they are read.
    """
    key = f"{sha256}-{hashlib.sha256(how.encode()).hexdigest()[:8]}"
    path = folder(cache, "parsed") / f"v{VERSION}-{key}.npz"
    if (stored := _load(path)) is not None:
        return stored
    fresh = make()
    _save(path, fresh)
    return fresh


def _load(path: Path) -> Parsed | None:
    """None where there is no entry, or where somebody has damaged it."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            texts = (tuple(arrays[name].tolist()) for name in TEXTS)
            return Parsed(arrays["X"], arrays["y"], *texts)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def derived_file(cache: str | None, source: Path, name: str, make: Callable[[Path], bytes]) -> Path:
    """A file derived from a large one, made once for each content of that one."""
    with open_regular(source) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    path = folder(cache, "derived") / f"v{VERSION}-{digest}-{name}"
    if not path.exists():
        data = make(source)
        try:
            _write(path, lambda file: file.write(data))
        except OSError as error:
            raise UserError(
                f"{path}: cannot be written ({error.strerror}). Set data.cache to a folder with "
                "room that you may write to."
            ) from None
    return path


def _save(path: Path, parsed: Parsed) -> None:
    arrays: dict[str, np.ndarray] = {"X": parsed.X, "y": parsed.y}
    arrays |= {name: np.array(getattr(parsed, name), dtype=str) for name in TEXTS}
    # A cache that cannot be written to costs time, not the run.
    with contextlib.suppress(OSError):
        _write(path, lambda file: np.savez(file, allow_pickle=False, **arrays))


def _write(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Written to a temporary file and moved in whole: a reader sees a complete file or none."""
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            fill(file)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
