"""The cache: public files, fetched once and checked by their hash, and rows that were parsed."""

import contextlib
import hashlib
import io
import json
import logging
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pooch

from sdsl.core.rows import Table
from sdsl.core.state import write_whole
from sdsl.datasets.files import Content, one_line
from sdsl.errors import UserError

VERSION = 4  # raise it when reading changes, so that older entries are not used
DAMAGED = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)


def folder(setting: str | None, name: str) -> Path:
    """A sub-folder of the cache: `data.cache`, or the user's own."""
    try:
        path = Path(setting or pooch.os_cache("sdsl")).expanduser() / name
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError, RuntimeError) as error:  # a zero byte; ~name of nobody
        raise UserError(
            f"{setting or 'the cache'}: cannot make the cache folder ({one_line(error)}). Set "
            "data.cache to a folder you may write to."
        ) from None
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
    """The file in the cache; nothing is moved there before its hash has been checked."""
    place, expected = folder(cache, "downloads"), list(hashes)
    # The address is part of the name, so that two files of one name do not meet in the cache.
    name = f"{hashlib.sha256(url.encode()).hexdigest()[:8]}-{url.rpartition('/')[2]}"

    def fits(path: Path) -> bool:
        content = Content(path, path.read_bytes(), "")
        return content.sha256 in expected or content.git_blob in expected

    def checked(url: str, output: str, owner: Any) -> None:
        """pooch keeps the temporary file `output` if no error is raised; it knows no git hashes."""
        logging.getLogger(__name__).info("downloading %s", url)
        pooch.HTTPDownloader()(url, output, owner)
        if not fits(Path(output)):
            raise UserError(f"{url}: wrong checksum, not kept. Expected {' or '.join(expected)}.")

    if (place / name).is_file() and not fits(place / name):
        (place / name).unlink()  # damaged since
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        return Path(pooch.retrieve(url, None, fname=name, path=place, downloader=checked))
    except UserError:
        raise
    except Exception as error:  # requests' errors, which pooch passes on, share only this base
        raise UserError(
            f"{url}: the download failed ({type(error).__name__}). Check the connection, put the "
            "file into data.root, or run with data.download=false to use what ships offline."
        ) from None
