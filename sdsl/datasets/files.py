"""Finds a user's file by name and reads its uncompressed bytes with their fingerprints."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sdsl.datasets.unpack import gunzip, open_regular, open_zip, read_all, read_member
from sdsl.errors import UserError

TABLES = (".csv", ".txt", ".dat", ".arff", ".npz", ".parquet")  # in order of preference
PACKED = ("", ".gz", ".zip")
ENDINGS = tuple(table + packed for packed in PACKED for table in TABLES)


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
        """The name that git gives these bytes: some originals are known by no other hash."""
        found = git_blob_start(len(self.data))
        found.update(self.data)
        return found.hexdigest()


def git_blob_start(size: int) -> "hashlib._Hash":
    """git's hash of a file, before its content: SHA-1 that begins with "blob SIZE" and a zero."""
    return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)


def find(root: Path, stems: list[str], endings: tuple[str, ...] = ENDINGS) -> Path | None:
    """The first file with one of these names (any case) and endings.

    A stem may name a sub-folder, as in `archive/1CDT`; a sub-folder that is not there is no error.
    """
    present = _listed(root)
    for stem in stems:
        folder, _, base = stem.rpartition("/")
        files = present
        if folder:
            files = _listed(root / folder) if (root / folder).is_dir() else {}
        for ending in endings:
            if (path := files.get((base + ending).lower())) is not None:
                return path
    return None


def _listed(folder: Path) -> dict[str, Path]:
    """File name in lower case -> path."""
    try:
        return {entry.name.lower(): Path(entry.path) for entry in os.scandir(folder)}
    except FileNotFoundError:
        raise UserError(
            f"{folder}: no such folder. Set data.root (or SDSL_DATA) to the folder with your data "
            "files, or leave it unset to use what ships offline."
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"{folder}: cannot list this folder ({reason}). data.root (or SDSL_DATA) must "
            "be a folder you may read."
        ) from None


def user_path(text: str) -> Path:
    """A path as the user wrote it, with ~ for the home folder."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:  # ~name of nobody
        raise UserError(f"{text}: {error}") from None


def read(path: Path) -> Content:
    """The file's bytes with gzip or zip taken off."""
    name = path.name.lower()
    with open_regular(path) as file:
        if name.endswith(".gz"):
            data, name = gunzip(file, path), name.removesuffix(".gz")
        elif name.endswith(".zip"):
            with open_zip(file, path) as archive:
                member = _only_table(archive.namelist(), path)
                data, name = read_member(archive, member, path), member.lower()
        else:
            data = read_all(file, path)
    if not data or data.isspace():
        raise UserError(f"{path}: the file is empty; expected rows of numbers with a label.")
    return Content(path, data, PurePosixPath(name).suffix)


def _only_table(members: list[str], path: Path) -> str:
    tables = [member for member in members if member.lower().endswith(TABLES)]
    if len(tables) != 1:
        raise UserError(
            f"{path}: expected exactly one data file ({', '.join(TABLES)}) in the archive, "
            f"found {len(tables)}. Unpack it and keep the one you want."
        )
    return tables[0]
