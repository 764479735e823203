"""Fetches a public file once into the user's cache, checked by its hash, with a progress bar."""

import hashlib
import logging
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlparse

import pooch
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from sdsl.datasets.cache import folder
from sdsl.datasets.files import git_blob_start
from sdsl.errors import UserError


@dataclass(frozen=True)
class Fingerprint:
    """What a file must hash to: one of the two is known."""

    sha256: str | None = None
    git_blob: str | None = None

    def __str__(self) -> str:
        return f"SHA-256 {self.sha256}" if self.sha256 else f"git blob {self.git_blob}"

    def fits(self, path: Path) -> bool:
        """Whether the file is the one."""
        start = hashlib.sha256 if self.sha256 else partial(git_blob_start, path.stat().st_size)
        with path.open("rb") as file:
            found = hashlib.file_digest(file, start).hexdigest()
        return found == (self.sha256 or self.git_blob)


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


class _WrongFile(Exception):
    """What was sent is not what was asked for."""


def fetch(url: str, expected: Fingerprint, cache: str | None) -> Path:
    """The file in the cache; nothing is moved there before its hash has been checked."""
    name = PurePosixPath(urlparse(url).path).name
    # The address is part of the name, so that two files of one name do not meet in the cache.
    target = f"{hashlib.sha256(url.encode()).hexdigest()[:8]}-{name}"
    place = folder(cache, "downloads")
    path = place / target
    if path.is_file() and expected.fits(path):
        return path
    path.unlink(missing_ok=True)  # damaged since

    def checked(url: str, output: str, owner: Any) -> None:
        """pooch calls this with a temporary file, and keeps that file if no error is raised."""
        bar = _Bar(name)
        try:
            pooch.HTTPDownloader(progressbar=bar)(url, output, owner)
        finally:
            bar.close()
        if not expected.fits(Path(output)):
            raise _WrongFile

    pooch.get_logger().setLevel(logging.WARNING)
    try:
        # pooch knows no git blobs, so `checked` compares the hash, for both kinds.
        pooch.retrieve(url, known_hash=None, fname=target, path=place, downloader=checked)
    except _WrongFile:
        raise UserError(
            f"{url}: wrong checksum, so it was not kept. Expected {expected}."
        ) from None
    except Exception as error:  # requests' errors, which pooch passes on, share only this base
        raise UserError(
            f"{url}: the download failed ({type(error).__name__}). Check the connection, put the "
            "file into data.root, or run with data.download=false to use what ships offline."
        ) from None
    return path
