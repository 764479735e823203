"""The cache: public files, fetched once and checked by their hash, and rows that were parsed."""

import contextlib
import hashlib
import logging
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from sdsl.config.compose import user_cache
from sdsl.core.rows import Table
from sdsl.core.state import load_state, save_state, write_whole
from sdsl.datasets.files import Content, one_line, user_path
from sdsl.datasets.forms import Form, converted
from sdsl.errors import UserError

VERSION = 5  # raise it when reading changes, so that older entries are not used


def folder(setting: str | None, name: str) -> Path:
    """A sub-folder of the cache: `data.cache`, or the user's own."""
    path = user_path(setting or str(user_cache())) / name
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
    path = folder(cache, "parsed") / f"v{VERSION}-{hashlib.sha256(key.encode()).hexdigest()}"
    with contextlib.suppress(UserError, TypeError, KeyError):  # none yet, or a damaged one
        entry = load_state(path)
        table = Table(**entry["table"])
        if table.digest() == entry["digest"]:
            return table
    table = make()
    with contextlib.suppress(UserError):  # a full disk costs time, not the run
        save_state(path, {"table": vars(table), "digest": table.digest()})
    return table


def fetch(
    urls: Sequence[str], hashes: Collection[str], cache: str | None, form: Form | None
) -> Path:
    """The file in the cache, converted from this form; only one with an expected hash is kept."""
    # The address is part of the name, so that two files of one name do not meet in the cache.
    name = f"{hashlib.sha256(urls[0].encode()).hexdigest()[:8]}-{urls[0].rpartition('/')[2]}"
    path = folder(cache, "downloads") / (f"{name}.csv" if form else name)
    if path.is_file() and _fits(path.read_bytes(), hashes):
        return path
    downloads = [_download(url) for url in urls]
    data = converted(form, downloads) if form else downloads[0]
    if not _fits(data, hashes):
        of = " of what it was converted to" if form else ""
        raise UserError(f"{urls[0]}: wrong checksum{of}, not kept. Expected {' or '.join(hashes)}.")
    write_whole(path, data)
    return path


def _download(url: str) -> bytes:
    import requests  # comes with MLflow

    logging.getLogger(__name__).info("downloading %s", url)
    try:
        answer = requests.get(url, timeout=60)
        answer.raise_for_status()
        return answer.content
    except OSError as error:  # the errors of requests are OSErrors
        why = f"the download failed ({type(error).__name__})"
        hint = "Check the connection, put the file into data.root, or set data.download=false"
        raise UserError(f"{url}: {why}. {hint}.") from None


def _fits(data: bytes, hashes: Collection[str]) -> bool:
    content = Content(Path(), data, "")
    return content.sha256 in hashes or content.git_blob in hashes
