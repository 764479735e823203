"""Sources that are drawn: from a keyframe table, along a random path, or from geometry."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdsl.core.fields import choice
from sdsl.datasets import keyframes, shapes
from sdsl.datasets.keyframes import Keyframes
from sdsl.datasets.parse import Parsed
from sdsl.datasets.random_path import PathConfig, random_path
from sdsl.datasets.shapes import ShapesConfig
from sdsl.datasets.source import STANDINGS, Raw, Source

if TYPE_CHECKING:
    from sdsl.config.schema import DataConfig


@dataclass(kw_only=True)
class Regenerated(Source):
    """Drawn from a keyframe table in sdsl/datasets/keyframes/."""

    keyframes: str  # the table's name
    standing: str = choice(*STANDINGS)

    def check(self) -> None:
        keyframes.check_name(self.keyframes)

    def load(self, data: "DataConfig") -> Raw:
        table = keyframes.load(self.keyframes)
        return _drawn(table, f"keyframes {self.keyframes}.json", self.standing)


@dataclass(kw_only=True)
class RandomPath(PathConfig, Source):
    """Drawn from a random keyframe path, for choosing settings away from the eight."""

    standing: str = choice(*STANDINGS)

    def check(self) -> None:
        self.check_path()

    def load(self, data: "DataConfig") -> Raw:
        return _drawn(random_path(self), f"random path {self.path_seed}", self.standing)


@dataclass(kw_only=True)
class Shapes(ShapesConfig, Source):
    """Drawn from geometry, for choosing settings away from the eight."""

    standing: str = choice(*STANDINGS)

    def check(self) -> None:
        self.check_shapes()

    def load(self, data: "DataConfig") -> Raw:
        X, y = shapes.draw(self)
        sha256 = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
        classes = max(self.joined) + 1 if self.joined else self.classes
        rows = Parsed(X, y, tuple(str(c) for c in range(classes)))
        return Raw(rows, f"shapes {self.shapes_seed}", self.standing, sha256)


def _drawn(table: Keyframes, source: str, standing: str) -> Raw:
    X, y = keyframes.draw(table)
    sha256 = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
    return Raw(Parsed(X, y, tuple(table.classes)), source, standing, sha256)
