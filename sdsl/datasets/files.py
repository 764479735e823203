"""Finds a user's file, unpacks it in memory and takes its SHA-256: nothing is extracted to disk."""

import gzip
import hashlib
import io
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sdsl.errors import UserError

TABLES = (".csv", ".txt", ".dat", ".arff", ".npz", ".parquet")  # in order of preference
PACKED = ("", ".gz", ".zip")


@dataclass(frozen=True)
class Content:
    """A file's uncompressed bytes; `suffix` says how to parse them."""

    path: Path
    data: bytes
    suffix: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def git_blob(self) -> str:
        """The name git gives these bytes: of one original no other fingerprint is known."""
        return hashlib.sha1(b"blob %d\0" % len(self.data) + self.data).hexdigest()


def find(root: Path, stems: list[str]) -> Path | None:
    """The first file in the folder with one of these names (any case) and a known ending."""
    try:
        present = {entry.name.lower(): Path(entry.path) for entry in os.scandir(root)}
    except FileNotFoundError:
        raise UserError(
            f"{root}: no such folder. Set data.root (or SDSL_DATA) to the folder with your data "
            "files, or leave it unset to use what ships offline."
        ) from None
    except OSError as error:
        raise UserError(
            f"{root}: cannot list this folder ({error.strerror}). data.root (or SDSL_DATA) must "
            "be a folder you may read."
        ) from None
    for stem in stems:
        for ending in (table + packed for packed in PACKED for table in TABLES):
            if (path := present.get((stem + ending).lower())) is not None:
                return path
    return None


def read(path: Path) -> Content:
    """The file's bytes with gzip or zip taken off."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file.") from None
    except OSError as error:
        raise UserError(f"{path}: cannot read this file ({error.strerror}).") from None
    name = path.name.lower()
    if name.endswith(".gz"):
        data, name = _gunzip(path, data), name[: -len(".gz")]
    elif name.endswith(".zip"):
        data, name = _unzip(path, data)
    if not data.strip():
        raise UserError(f"{path}: the file is empty; expected rows of numbers with a label.")
    return Content(path, data, PurePosixPath(name).suffix)


def checked_zip(path: Path, data: bytes) -> zipfile.ZipFile:
    """Opens a zip (an NPZ is one) after refusing damaged ones and names that leave the archive."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
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


def _gunzip(path: Path, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except Exception as error:
        raise UserError(
            f"{path}: truncated or damaged gzip ({error}); expected a complete .gz file. Copy or "
            "download it again."
        ) from None


def _unzip(path: Path, data: bytes) -> tuple[bytes, str]:
    with checked_zip(path, data) as archive:
        members = [m for m in archive.namelist() if m.lower().endswith(TABLES)]
        if len(members) != 1:
            raise UserError(
                f"{path}: expected exactly one data file ({', '.join(TABLES)}) in the archive, "
                f"found {len(members)}. Unpack it and keep the one you want."
            )
        try:
            return archive.read(members[0]), members[0].lower()
        except Exception as error:
            raise UserError(f"{path}: cannot unpack {members[0]} ({error}).") from None
