"""The cache: public files, fetched once and checked by their hash, and rows that were parsed."""

import contextlib
import hashlib
import io
import json
import logging
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import platformdirs
import requests

from sdsl.core.rows import Table
from sdsl.core.state import write_whole
from sdsl.datasets.files import Content, one_line, user_path
from sdsl.errors import UserError

VERSION = 4  # raise it when reading changes, so that older entries are not used
DAMAGED = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)


def folder(setting: str | None, name: str) -> Path:
    """A sub-folder of the cache: `data.cache`, or the user's own."""
    path = user_path(setting or platformdirs.user_cache_dir("sdsl")) / name
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        why = f"cannot make the cache folder ({one_line(error)})"
        raise UserError(f"{path}: {why}. Set data.cache to a folder you may write to.") from None
    return path


def cached(cache: str | None, key: str, make: Callable[[], Table]) -> Table:
    """The table stored under this key, or that of `make`, stored for the next time.

    The key holds all that the rows depend on: the bytes of the file and how they are read.
    """
    name = f"v{VERSION}-{hashlib.sha256(key.encode()).hexdigest()}.npz"
    path = folder(cache, "parsed") / name
    with contextlib.suppress(*DAMAGED), np.load(path, allow_pickle=False) as stored:
        texts = json.loads(str(stored["texts"]))
        texts = {key: tuple(v) if isinstance(v, list) else v for key, v in texts.items()}
        return Table(X=stored["X"], y=stored["y"], **texts)
    table, buffer = make(), io.BytesIO()
    texts = {key: value for key, value in vars(table).items() if key not in ("X", "y")}
    np.savez(buffer, X=table.X, y=table.y, texts=np.array(json.dumps(texts)))
    with contextlib.suppress(UserError):  # a full disk costs time, not the run
        write_whole(path, buffer.getvalue())
    return table


def fetch(url: str, hashes: Iterable[str], cache: str | None) -> Path:
    """The file in the cache; only one with an expected hash is kept, or used again."""
    # The address is part of the name, so that two files of one name do not meet in the cache.
    name = f"{hashlib.sha256(url.encode()).hexdigest()[:8]}-{url.rpartition('/')[2]}"
    path, expected = folder(cache, "downloads") / name, set(hashes)
    if path.is_file() and _fits(path.read_bytes(), expected):
        return path
    logging.getLogger(__name__).info("downloading %s", url)
    try:
        reply = requests.get(url, timeout=60)
        reply.raise_for_status()
    except requests.RequestException as error:
        why = f"the download failed ({type(error).__name__})"
        hint = "Check the connection, put the file into data.root, or set data.download=false"
        raise UserError(f"{url}: {why}. {hint}.") from None
    if not _fits(reply.content, expected):
        raise UserError(f"{url}: wrong checksum, not kept. Expected {' or '.join(expected)}.")
    write_whole(path, reply.content)
    return path


def _fits(data: bytes, expected: set[str]) -> bool:
    content = Content(Path(), data, "")
    return content.sha256 in expected or content.git_blob in expected
