"""A dataset section of a config as typed objects: its order, and its sources, the best first.

A source is made from its entry in `dataset.sources` and from the keys that stand beside it in the
section, such as `dataset.path`; where both have a key, the entry's is used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from omegaconf import OmegaConf

from sdsl.config.build import build
from sdsl.config.strict import check_value
from sdsl.config.suggest import suggest
from sdsl.core.fields import choice, word
from sdsl.datasets.drawn import RandomPath, Regenerated, Shapes
from sdsl.datasets.file_sources import Corpus, Download, Local, Own
from sdsl.datasets.keel import Keel
from sdsl.datasets.orders import ORDERS
from sdsl.datasets.source import Source
from sdsl.errors import UserError

KINDS: dict[str, type[Source]] = {
    "local": Local,
    "corpus": Corpus,
    "download": Download,
    "keel": Keel,
    "regenerated": Regenerated,
    "path": RandomPath,
    "shapes": Shapes,
    "own": Own,
}
# How the rows are cut into segments: sdsl.core.stream.Cut, which is checked where it is used.
CUT = ("segment_size", "test_size", "gold_per_class", "calibrated_segments")


@dataclass
class Identity:
    """What every dataset has, wherever it comes from."""

    name: str = word(r"[^$/\\\x00-\x1f]+", "any name without $, / and \\")
    order: str = choice(*ORDERS)


@dataclass(frozen=True)
class Dataset:
    """A checked section."""

    name: str
    order: str
    sources: list[Source]


def check(section: Mapping[str, Any]) -> None:
    """Refuses a section that `load` could not use, in one sentence; loads nothing."""
    from sdsl.config.schema import DatasetConfig  # it brings torch along, which `load` never needs

    section = _plain(section)
    read_section(section)
    cut = {key: section[key] for key in (*CUT, "name", "order") if key in section}
    build(DatasetConfig, cut, "dataset")


def read_section(section: Mapping[str, Any]) -> Dataset:
    """Every key, type and range of the section, apart from how its rows are cut."""
    section = _plain(section)
    entries = _entries(section.get("sources"))
    _refuse_unknown(section, entries)
    own = {key: section[key] for key in ("name", "order") if key in section}
    identity = build(Identity, own, "dataset")
    sources = [_source(i, entry, section) for i, entry in enumerate(entries)]
    return Dataset(identity.name, identity.order, sources)


def _plain(section: Any) -> Mapping[str, Any]:
    """A mapping of plain values, with OmegaConf's references resolved."""
    if OmegaConf.is_config(section):
        section = OmegaConf.to_container(section, resolve=True)
    if not isinstance(section, Mapping):
        raise UserError(f"dataset={section!r:.80}: expected a group of settings.")
    return section


def _entries(sources: Any) -> list[Mapping[str, Any]]:
    if not isinstance(sources, list | tuple):
        raise UserError(f"dataset.sources={sources!r:.80}: expected a list of sources.")
    for i, entry in enumerate(sources):
        kind = entry.get("kind") if isinstance(entry, Mapping) else None
        if not isinstance(kind, str) or kind not in KINDS:
            raise UserError(
                f"dataset.sources.{i}: unknown kind of source {kind!r:.80}. "
                f"{suggest(str(kind), KINDS)}"
            )
    return list(sources)


def _refuse_unknown(section: Mapping[str, Any], entries: list[Mapping[str, Any]]) -> None:
    """A key beside the sources is known if one of them takes it from there."""
    known = {"name", "order", "sources", *CUT}
    for entry in entries:
        known |= _keys(entry) - entry.keys()
    for key in section:
        if key not in known:
            raise UserError(f"dataset has no parameter '{key}'. {suggest(str(key), known)}")


def _keys(entry: Mapping[str, Any]) -> set[str]:
    return {f.name for f in fields(KINDS[entry["kind"]])}


def _source(i: int, entry: Mapping[str, Any], section: Mapping[str, Any]) -> Source:
    cls, known = KINDS[entry["kind"]], _keys(entry)
    beside = {key: section[key] for key in section if key in known and key not in entry}
    stated = {key: value for key, value in entry.items() if key != "kind"}
    for where, values in (("dataset", beside), (f"dataset.sources.{i}", stated)):
        for key, value in values.items():
            if key not in known:
                raise UserError(f"{where} has no parameter '{key}'. {suggest(str(key), known)}")
            check_value(cls, key, value, f"{where}.{key}")
    source = build(cls, {**beside, **stated}, "dataset")
    source.check()
    return source
