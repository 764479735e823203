"""What every source of a dataset is: settings from YAML, and rows with their provenance."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sdsl.datasets.cache import cached_rows
from sdsl.datasets.files import Content
from sdsl.datasets.parse import Parsed, Reading, parse
from sdsl.errors import UserError

if TYPE_CHECKING:  # at run time it would bring torch along
    from sdsl.config.schema import DataConfig

# How the rows relate to the stream that was published; the words are explained in README.md.
STANDINGS = ("original", "reconstruction", "regenerated", "stand-in", "own", "unknown")


@dataclass(frozen=True)
class Raw:
    """Rows in file order, and where they came from."""

    rows: Parsed
    source: str
    standing: str
    sha256: str


@dataclass(kw_only=True)
class Source:
    """One entry of `dataset.sources`. A field with a default may be left out of the YAML."""

    name: str  # of the dataset, for messages
    time_ordered: bool = False  # the rows stand in the order in which they arrived

    def check(self) -> None:
        """Refuses settings that do not go together; loads nothing."""

    def load(self, data: "DataConfig") -> Raw | None:
        """The rows, or None if this source does not have them."""
        raise TypeError(f"{type(self).__name__} must define load(data)")

    def advice(self) -> str | None:
        """What the user can do so that this source has the rows."""
        return None


@dataclass(kw_only=True)
class Expect:
    """The shape that a file must have; None: any."""

    rows: int | None = None
    features: int | None = None
    classes: int | None = None

    def check(self, found: Parsed, path: Path, name: str) -> None:
        self._compare("rows", self.rows, len(found.y), path, name)
        self._compare("features", self.features, found.X.shape[1], path, name)
        self._compare("classes", self.classes, len(found.classes), path, name)

    @staticmethod
    def _compare(what: str, expected: int | None, found: int, path: Path, name: str) -> None:
        if expected is not None and found != expected:
            raise UserError(
                f"{path}: expected {expected} {what} for {name}, found {found}. Is this the right "
                "file, with the label in the last column?"
            )


@dataclass(kw_only=True)
class FileSource(Source):
    """A source that reads a table from a file."""

    label: str | int = -1  # the label's column: a name in the header, or a number (-1: the last)
    header: bool | None = None  # whether line 1 names the columns; None: look and see
    expect: Expect = field(default_factory=Expect)

    def raw(self, content: Content, data: "DataConfig", source: str, standing: str) -> Raw:
        """The file parsed, or taken from the cache, and of the expected shape."""
        sha256, reading = content.sha256, Reading(self.label, self.header)
        how = f"{content.suffix}|{reading.label}|{reading.header}"
        rows = cached_rows(data.cache, sha256, how, lambda: parse(content, reading))
        self.expect.check(rows, content.path, self.name)
        return Raw(rows, source, standing, sha256)


def check_standings(where: str, standings: list[str]) -> None:
    """Refuses a word that no reader would know."""
    for standing in standings:
        if standing not in STANDINGS:
            raise UserError(
                f"{where}: unknown standing {standing!r}; expected one of {', '.join(STANDINGS)}."
            )
