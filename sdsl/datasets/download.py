"""Fetches a public file once into the user's cache, checked by SHA-256, with a progress bar."""

import hashlib
import logging
from pathlib import Path, PurePosixPath
from urllib.parse import urlparse

import pooch
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from sdsl.datasets.cache import folder
from sdsl.datasets.files import Content, read
from sdsl.errors import UserError


class _Bar:
    """rich, in the shape pooch asks of a progress bar (it would otherwise need tqdm)."""

    def __init__(self, name: str) -> None:
        parts = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._bar = Progress(*parts, transient=True)
        self._task = self._bar.add_task(name, total=None)
        self.total: int | None = None

    def update(self, size: int) -> None:
        self._bar.start()
        self._bar.update(self._task, total=self.total, advance=size)

    def reset(self) -> None:
        self._bar.reset(self._task)

    def close(self) -> None:
        self._bar.stop()


def fetch(url: str, sha256: str, cache: str | None) -> Content:
    """The file's content; pooch moves it into the cache only after its checksum has passed."""
    name = PurePosixPath(urlparse(url).path).name
    # The address is part of the name, so that two files of one name do not meet in the cache.
    target = f"{hashlib.sha256(url.encode()).hexdigest()[:8]}-{name}"
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        path = pooch.retrieve(
            url, f"sha256:{sha256}", target, folder(cache, "downloads"), progressbar=_Bar(name)
        )
    except ValueError as error:
        raise UserError(
            f"{url}: wrong checksum, so it was not kept: {error} Expected SHA-256 {sha256}."
        ) from None
    except Exception as error:  # requests' errors, which pooch passes on, share only this base
        raise UserError(
            f"{url}: the download failed ({type(error).__name__}). Check the connection, put the "
            "file into data.root, or run with data.download=false to use what ships offline."
        ) from None
    return read(Path(path))
