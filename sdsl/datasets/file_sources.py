"""Sources that are files: the user's own, known ones in `data.root`, and downloads."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from sdsl.core.fields import choice, number
from sdsl.datasets import spam_corpus
from sdsl.datasets.cache import cached_rows, derived_file
from sdsl.datasets.download import Fingerprint, fetch
from sdsl.datasets.files import Content, find, read, user_path
from sdsl.datasets.inputs import find as matching
from sdsl.datasets.parse import Reading
from sdsl.datasets.source import STANDINGS, FileSource, Raw, check_standings
from sdsl.errors import UserError

if TYPE_CHECKING:
    from sdsl.config.schema import DataConfig


@dataclass(kw_only=True)
class Own(FileSource):
    """The user's own table, or a folder or glob of them, its rows in order of time."""

    path: str = field(metadata={"asks": "your CSV or Parquet file"})
    prepare: bool = False  # any kind of column, by columns.py; False: numbers only, one file
    drop: list[str] = field(default_factory=list)
    use: list[str] = field(default_factory=list)
    segment_size: int | None = None  # of the dataset: its first segment is where gold comes from

    def check(self) -> None:
        if (self.drop or self.use) and not self.prepare:
            raise UserError("dataset.drop and dataset.use need dataset.prepare=true.")

    def load(self, data: "DataConfig") -> Raw:
        if not self.prepare:
            return self._numbers(read(user_path(self.path)), data)
        paths = [found.path for found in matching([self.path])]
        if not paths:
            raise UserError(f"dataset.path={self.path}: there is no table in it.")
        contents = [read(path) for path in paths]
        if len(contents) == 1 and contents[0].suffix == ".npz":  # arrays have no columns
            return self._numbers(contents[0], data)
        from sdsl.datasets import prepared  # scikit-learn and skrub take seconds

        reading = Reading(self.label, self.header)
        rows = self.segment_size or 0
        wanted = prepared.Wanted(self.path, reading, self.drop, self.use, rows)
        sha256 = prepared.sha256(contents)
        how = f"{[one.suffix for one in contents]}|{wanted.key()}"
        made = cached_rows(data.cache, sha256, how, lambda: prepared.prepared(contents, wanted))
        return Raw(made, prepared.described(paths, self.path), "own", sha256)

    def _numbers(self, content: Content, data: "DataConfig") -> Raw:
        return self.raw(content, data, f"file {content.path.name}", "own")


@dataclass(kw_only=True)
class Local(FileSource):
    """A file in `data.root`, recognised by its hash; one that is not known says `unknown`."""

    files: list[str]  # names without ending, possibly in a sub-folder; the first one found is used
    sha256: dict[str, str] = field(default_factory=dict)  # of the uncompressed bytes -> standing
    git_blob: dict[str, str] = field(default_factory=dict)  # git's own hash -> standing

    def check(self) -> None:
        standings = [*self.sha256.values(), *self.git_blob.values()]
        check_standings(self.name, standings)

    def load(self, data: "DataConfig") -> Raw | None:
        path = find(user_path(data.root), self.files) if data.root else None
        if path is None:
            return None
        content = read(path)
        standing = self.sha256.get(content.sha256)
        if standing is None and self.git_blob:
            standing = self.git_blob.get(content.git_blob)
        return self.raw(content, data, f"file {path.name}", standing or "unknown")

    def advice(self) -> str:
        return f"put {self.files[0]}.csv (or .txt, also with .gz) into data.root (or SDSL_DATA)"


@dataclass(kw_only=True)
class Download(FileSource):
    """A public file, fetched when `data.download` is set and checked by one of two hashes."""

    url: str
    standing: str = choice(*STANDINGS)
    sha256: str | None = None
    git_blob: str | None = None

    def check(self) -> None:
        if (self.sha256 is None) == (self.git_blob is None):
            raise UserError(f"{self.name}: the download {self.url} needs sha256 or git_blob.")

    def load(self, data: "DataConfig") -> Raw | None:
        if not data.download:
            return None
        content = read(fetch(self.url, Fingerprint(self.sha256, self.git_blob), data.cache))
        return self.raw(content, data, f"download {self.url}", self.standing)

    def advice(self) -> str:
        return "set data.download=true"


@dataclass(kw_only=True)
class Corpus(FileSource):
    """The SpamAssassin corpus, in `data.root` or downloaded, reduced to its best words."""

    files: list[str]  # names of the zip without ending
    url: str | None = None  # where the zip can be had
    zip_sha256: str | None = None  # of the file there
    words: int = number(low=1, high=100_000)
    sha256: dict[str, str] = field(default_factory=dict)  # of the resulting CSV -> standing

    def check(self) -> None:
        check_standings(self.name, list(self.sha256.values()))
        if self.url and not self.zip_sha256:
            raise UserError(f"{self.name}: the download {self.url} needs zip_sha256.")

    def load(self, data: "DataConfig") -> Raw | None:
        root = user_path(data.root) if data.root else None
        path = find(root, self.files, (".zip",)) if root else None
        source = f"file {path.name}" if path else f"download {self.url}"
        if path is None:
            if not (data.download and self.url):
                return None
            path = fetch(self.url, Fingerprint(sha256=self.zip_sha256), data.cache)
        select = partial(spam_corpus.select, words=self.words)
        content = read(derived_file(data.cache, path, f"{self.words}.csv", select))
        standing = self.sha256.get(content.sha256, "unknown")
        return self.raw(content, data, f"{source}, {self.words} best words", standing)

    def advice(self) -> str:
        return "set data.download=true"
