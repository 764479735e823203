"""Reads regular files, gzip and zip in bounded memory; nothing is extracted to disk."""

import gzip
import io
import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import IO

from sdsl.datasets import limits
from sdsl.datasets.messages import one_line
from sdsl.errors import UserError


@contextmanager
def open_regular(path: Path) -> Iterator[BufferedReader]:
    """The file opened for reading; a pipe would block for ever, and a device has no end."""
    try:
        # Without O_NONBLOCK, opening a pipe that nobody writes to would hang here already.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file.") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path}: cannot read this file ({reason}).") from None
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise UserError(f"{path}: cannot read {kind}; expected a regular file.")
    with os.fdopen(handle, "rb") as file:
        yield file


def read_all(file: IO[bytes] | gzip.GzipFile, path: Path) -> bytes:
    """Everything up to the end, refused as soon as it is over the limit."""
    buffer = io.BytesIO()
    while chunk := file.read(limits.CHUNK):
        buffer.write(chunk)
        if buffer.tell() > limits.MOST_BYTES:
            raise limits.too_large(path)
    return buffer.getvalue()


def gunzip(file: BufferedReader, path: Path) -> bytes:
    """The content of a gzip file."""
    try:
        with gzip.GzipFile(fileobj=file) as unpacked:
            return read_all(unpacked, path)
    except UserError:
        raise
    except Exception as error:  # gzip and zlib have several ways to say it
        raise UserError(
            f"{path}: truncated or damaged gzip ({one_line(error)}); expected a complete .gz "
            "file. Copy or download it again."
        ) from None


def open_zip(file: BufferedReader | io.BytesIO, path: Path) -> zipfile.ZipFile:
    """Opens a zip (an NPZ is one) after refusing damaged ones and names that leave the archive."""
    try:
        archive = zipfile.ZipFile(file)
        names = archive.namelist()
    except Exception:  # zipfile has a dozen ways to say it
        raise UserError(f"{path}: not a complete zip archive; get the file again.") from None
    for name in names:
        parts = PurePosixPath(name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in name:
            raise UserError(
                f"{path}: the archive holds the name {name!r}, which points outside it; expected "
                "plain names. Do not use this file."
            )
    return archive


def read_member(archive: zipfile.ZipFile, member: str, path: Path) -> bytes:
    """One file of the archive."""
    try:
        with archive.open(member) as file:
            return read_all(file, path)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{path}: cannot unpack {member} ({one_line(error)}).") from None
