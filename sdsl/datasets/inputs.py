"""Finds the tables that paths, folders and globs name, in order of name."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sdsl.datasets.files import user_path
from sdsl.errors import UserError

TEXT = (".csv", ".txt")
# What a folder is searched for, and what can be written back with labels.
ENDINGS = tuple(f"{kind}{packed}" for kind in (*TEXT, ".parquet") for packed in ("", ".gz"))


@dataclass(frozen=True)
class Input:
    """A file, and the name under which its labelled copy is written below `out`."""

    path: Path
    name: str

    def version(self) -> list[int]:
        """Tells a file that was changed: its size and time of change."""
        found = self.path.stat()
        return [found.st_size, found.st_mtime_ns]


def find(patterns: Sequence[str], out: Path | None = None) -> list[Input]:
    """Every table that the patterns name, by name; what lies below `out` is no input."""
    found: dict[str, Input] = {}
    for pattern in patterns:
        for path, root in _expand(pattern):
            if out is not None and path.resolve().is_relative_to(out.resolve()):
                continue
            name = path.relative_to(root).as_posix()
            if name in found and found[name].path.resolve() != path.resolve():
                raise UserError(
                    f"{path} and {found[name].path} would both be written to {name}: rename one, "
                    "or give a folder above both."
                )
            found[name] = Input(path, name)
    return [found[name] for name in sorted(found)]


def _expand(pattern: str) -> list[tuple[Path, Path]]:
    """(file, the folder that its name counts from)."""
    path = user_path(pattern)
    if path.is_dir():
        inside = [file for file in path.rglob("*") if _is_table(file.relative_to(path))]
        return [(file, path) for file in inside if file.is_file()]
    if path.exists() or not glob.has_magic(pattern):
        return [(path, path.parent)]
    parts = path.parts
    fixed = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:fixed]) if fixed else Path()
    matches = [Path(match) for match in glob.glob(str(path), recursive=True)]
    return [(m, root) for m in matches if m.is_file() and _is_table(m.relative_to(root))]


def is_readable(path: Path) -> bool:
    """Whether the file's name ends as a table's does."""
    return path.name.lower().endswith(ENDINGS)


def _is_table(name: Path) -> bool:
    return is_readable(name) and not any(part.startswith(".") for part in name.parts)
