"""Finds people's files and reads their bytes: plain, gzip or zip, at most LIMIT bytes of each."""

import glob
import gzip
import hashlib
import io
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO

from sdsl.errors import UserError

LIMIT = 2**30  # bytes of one file once unpacked
TOO_LARGE = f"more than {LIMIT // 2**20:,} MB once unpacked. Use a shorter file or fewer columns."
TABLES = (".csv", ".txt", ".dat", ".parquet")  # in order of preference


@dataclass(frozen=True)
class Content:
    """A file's uncompressed bytes; `suffix` says how to parse them."""

    path: Path
    data: bytes
    suffix: str

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def git_blob(self) -> str:
        """The name that git gives these bytes: some originals are known by no other hash."""
        head = b"blob %d\0" % len(self.data)
        return hashlib.sha1(head + self.data, usedforsecurity=False).hexdigest()


def read(path: Path) -> Content:
    """The file's bytes with gzip or zip taken off."""
    name, data = path.name.lower(), raw(path)
    try:
        if name.endswith(".gz"):
            name = name.removesuffix(".gz")
            with gzip.open(io.BytesIO(data)) as unpacked:
                data = limited(unpacked, path)
        elif name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                names = [one for one in archive.namelist() if one.lower().endswith(TABLES)]
                if len(names) != 1:
                    why = f"expected one file {', '.join(TABLES)} in the archive"
                    raise UserError(f"{path}: {why}, found {len(names)}. Unpack the one you want.")
                with archive.open(name := names[0]) as member:
                    data = limited(member, path)
    except UserError:
        raise
    except Exception as error:  # gzip, zlib and zipfile have a dozen ways to say it
        why = f"truncated or damaged ({one_line(error)})"
        raise UserError(f"{path}: {why}. Copy or download it again.") from None
    if not data or data.isspace():
        raise UserError(f"{path}: the file is empty; expected rows with a label.")
    return Content(path, data, PurePosixPath(name.lower()).suffix)


def read_table(path: Path) -> Content:
    """The bytes of a file that can be written back."""
    if not is_readable(path):
        raise UserError(f"{path}: expected {', '.join(TABLES)}, plain or with .gz.")
    return read(path)


def raw(path: Path) -> bytes:
    """The bytes as they lie on the disk."""
    try:
        if path.is_file():  # a pipe would block for ever, and a device has no end
            with path.open("rb") as file:
                return limited(file, path)
        reason = "no regular file" if path.exists() else "no such file"
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = f"cannot be read ({one_line(error)})"
    raise UserError(f"{path}: {reason}.")


def limited(file: IO[bytes] | gzip.GzipFile, path: Path) -> bytes:
    """Everything up to the end, never more than the limit in memory."""
    if len(data := file.read(LIMIT + 1)) > LIMIT:
        raise UserError(f"{path}: {TOO_LARGE}")
    return data


def one_line(error: Exception) -> str:
    """A library's message, on one line of readable length."""
    return " ".join(str(getattr(error, "strerror", None) or error).split())[:200]


def user_path(text: str) -> Path:
    """A path as the user wrote it, with ~ for the home folder."""
    return Path(os.path.expanduser(text))


def find(root: str | None, stems: Sequence[str], tables: Sequence[str] = TABLES) -> Path | None:
    """The first file in data.root with one of these names, in any case, plain or packed.

    A name may be that of a file in a sub-folder, as in `archive/1CDT`.
    """
    endings = [table + packed for packed in ("", ".gz", ".zip") for table in tables]
    for stem in stems if root else ():
        folder = user_path(f"{root}/{stem}").parent
        if "/" in stem and not folder.is_dir():
            continue
        try:
            present = {entry.name.lower(): Path(entry.path) for entry in os.scandir(folder)}
        except (OSError, ValueError) as error:
            why = f"cannot list this folder ({one_line(error)})"
            raise UserError(f"{folder}: {why}. See data.root (or SDSL_DATA).") from None
        names = [(Path(stem).name + ending).lower() for ending in endings]
        if found := [present[name] for name in names if name in present]:
            return found[0]
    return None


@dataclass(frozen=True)
class Input:
    """A file, and the name under which its labelled copy is written below `out`."""

    path: Path
    name: str

    def version(self) -> list[int]:
        """Tells a file that was changed: its size and time of change."""
        found = self.path.stat()
        return [found.st_size, found.st_mtime_ns]


def inputs(patterns: Sequence[str], out: Path | None = None) -> list[Input]:
    """Every table of paths, folders and globs, by name; files below `out` are no input."""
    found: dict[str, Input] = {}
    for pattern in patterns:
        if out and (root := _root(user_path(pattern))).resolve().is_relative_to(out.resolve()):
            why = f"files={pattern} are in the folder {root}, which out={out} is or holds"
            raise UserError(f"{why}. Choose another out=, such as out={root}_labelled.")
        for path, root in _expand(user_path(pattern)):
            name, own = path.relative_to(root).as_posix(), path.resolve()
            if out is not None and own.is_relative_to(out.resolve()):
                continue
            if (other := found.setdefault(name, Input(path, name)).path).resolve() != own:
                both = f"{path} and {other} would both be written to {name}"
                raise UserError(f"{both}: rename one, or give a folder above both.")
    return [found[name] for name in sorted(found)]


def _expand(path: Path) -> list[tuple[Path, Path]]:
    """(file, the folder that its name counts from)."""
    if (root := _root(path)) == path.parent and (path.exists() or not glob.has_magic(str(path))):
        return [(path, root)]
    if root == path:
        matches = list(path.rglob("*"))
    else:
        matches = [Path(match) for match in glob.glob(str(path), recursive=True)]
    visible = [m for m in matches if not any(p.startswith(".") for p in m.relative_to(root).parts)]
    return [(match, root) for match in visible if is_readable(match) and match.is_file()]


def _root(path: Path) -> Path:
    """The folder of a path, folder or glob."""
    if path.is_dir():
        return path
    known = path.exists()
    return next(part for part in path.parents if known or not glob.has_magic(str(part)))


def is_readable(path: Path) -> bool:
    """Whether the file's name ends as a table's does that can be written back."""
    return path.name.lower().removesuffix(".gz").endswith(TABLES)
