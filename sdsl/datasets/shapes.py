"""Development streams from geometry: x = travel + swell * turn * (place + spin * shape) + noise.

Each setting acts alone, so a stream can hold one difficulty or several. Lengths are in standard
deviations of a mode's noise. Rows drift one by one; `segment_size` only cuts them.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from sdsl.config.sections import DataConfig
from sdsl.core.rows import Table
from sdsl.core.settings import Count, Weight
from sdsl.datasets.sources import Drawn, strict
from sdsl.errors import UserError

Rng = np.random.Generator


@strict
class Shapes(Drawn):
    """The knobs of conf/dataset/dev/shapes.yaml, which says what they do."""

    shapes_seed: Count
    classes: Annotated[int, Field(ge=2, le=20)]
    features: Annotated[int, Field(ge=2, le=1000)]
    modes: Annotated[int, Field(ge=1, le=20)]
    shape: Literal["blob", "ring", "crescent", "star", "arms"]
    arms: Annotated[int, Field(ge=1, le=50)]
    layout: Literal["random", "wheel", "column"]
    size: Weight
    gap: Weight
    turn: float
    spin: float
    travel: float
    swell: Annotated[float, Field(ge=-3, le=3)]
    wander: Weight
    cross: Weight | None
    jump: Weight
    periods: Count
    steps: Annotated[int, Field(ge=0, le=100_000)]
    joined: list[Count] | None
    shares: list[Weight] | None
    last_shares: list[Weight] | None
    noise: Literal["normal", "heavy", "skewed"]
    binary: bool
    segments: Annotated[int, Field(ge=2, le=10_000)]
    segment_size: Annotated[int, Field(ge=2, le=100_000)]

    def __post_init__(self) -> None:
        for name in ("joined", "shares", "last_shares"):
            if (given := getattr(self, name)) and (len(given) != self.classes or not sum(given)):
                expected = f"a number for each of the {self.classes} classes, not only zeros"
                raise UserError(f"dataset.{name}={given}: expected {expected}.")

    def load(self, data: DataConfig) -> Table:
        classes = map(str, range(max(self.joined or [self.classes - 1]) + 1))
        return self.table(*draw(self), classes, f"shapes {self.shapes_seed}")


def draw(k: Shapes) -> tuple[np.ndarray, np.ndarray]:
    """X float32 [N, d] and y int64 [N]."""
    rng = np.random.default_rng(k.shapes_seed)
    C, d, n = k.classes, k.features, k.segments * k.segment_size
    time = np.linspace(0, 1, n)
    phase = np.floor(time * k.steps) / k.steps if k.steps else time
    if k.periods:  # to and fro
        phase = 1 - np.abs(1 - 2 * ((k.periods * phase) % 1))
    first = np.array(k.shares or [1 / C] * C, float)
    last = np.array(k.last_shares or first, float)
    share = (1 - time)[:, None] * first / first.sum() + time[:, None] * last / last.sum()
    y = (rng.random(n)[:, None] > share.cumsum(1)[:, :-1]).sum(1).astype(np.int64)
    mode = rng.integers(k.modes, size=n)
    place = _places(rng, k)  # [C, modes, d]
    X = place[y, mode]
    if k.cross is not None:
        X = X + _crossing(place, phase, y, k.cross)
    X = X + turned(_shape(rng, y, mode, k), np.radians(k.spin) * k.segments * phase)
    if k.wander:  # a smooth random way for each mode, of length about 1, from 0
        wave = rng.normal(0, 1, (C, k.modes, 3, d)) / np.sqrt(d) / np.arange(1, 4)[:, None]
        basis = np.sin(np.pi / 2 * phase * np.arange(1, 4)[:, None])  # [3, n]
        X = X + np.einsum("cmwd,wn->cmnd", wave, basis)[y, mode, np.arange(n)] * k.wander
    if k.jump:
        X = X + ((y == C - 1) & (phase > 0.5))[:, None] * k.jump * _direction(rng, d)
    X = X * np.exp(k.swell * np.sin(2 * np.pi * phase))[:, None]
    X = turned(X, np.radians(k.turn) * k.segments * phase)
    way = np.eye(d)[1] if k.layout == "column" else _direction(rng, d)
    X = X + phase[:, None] * k.travel * way
    X = X + _noise(rng, k.noise, (n, d))
    if k.binary:
        X = (rng.random((n, d)) < 1 / (1 + np.exp(-X))).astype(float)
    # Rounding keeps the last bits of one machine's arithmetic out of the data and of its SHA-256.
    return np.round(X, 4).astype(np.float32), np.array(k.joined or range(C))[y]


def _noise(rng: Rng, kind: str, shape: tuple[int, int]) -> np.ndarray:
    """Of standard deviation 1 and mean 0."""
    if kind == "normal":
        return rng.standard_normal(shape)
    if kind == "heavy":  # Student's t with 3 degrees of freedom
        return rng.standard_t(3, shape) / np.sqrt(3)
    s = 0.6  # log-normal, as times between keys are
    return (rng.lognormal(0, s, shape) / np.exp(s * s / 2) - 1) / np.sqrt(np.exp(s * s) - 1)


def _places(rng: Rng, k: Shapes) -> np.ndarray:
    """[C, modes, d], at least `gap` from other classes; in a layout, classes by turns."""
    C, M, d, half = k.classes, k.modes, k.features, k.gap / np.sqrt(k.features)
    if k.layout != "random":
        order, place = np.arange(C * M), np.zeros((C * M, d))
        place[:, 1] = k.gap * (order - order.mean())
        if k.layout == "wheel":
            angle, radius = 2 * np.pi * order / len(order), k.gap / 2 / np.sin(np.pi / len(order))
            place[:, :2] = radius * np.c_[np.cos(angle), np.sin(angle)]
        return place.reshape(M, C, d).transpose(1, 0, 2)
    while True:  # at random, in a box that grows until they fit
        half *= 1.05
        for _ in range(50):
            place = rng.uniform(-half, half, (C, M, d))
            far = np.linalg.norm(place[:, :, None, None] - place, axis=-1)  # [C, M, C, M]
            far[np.arange(C), :, np.arange(C)] = np.inf
            if far.min() >= k.gap:
                return place


def _crossing(place: np.ndarray, phase: np.ndarray, y: np.ndarray, near: float) -> np.ndarray:
    """Moves class 0 along a bow to class 1's place, and class 1 along the other bow: [n, d]."""
    way = place[1, 0] - place[0, 0]
    side = np.r_[-way[1], way[0], 0 * way[2:]]
    side /= np.linalg.norm(side)
    sign = np.select([y == 0, y == 1], [1.0, -1.0], 0.0)[:, None]
    return sign * (phase[:, None] * way + near / 2 * np.sin(np.pi * phase)[:, None] * side)


def _shape(rng: Rng, y: np.ndarray, mode: np.ndarray, k: Shapes) -> np.ndarray:
    """A point of the mode's outline, in the first two features; each mode has its own angle."""
    out = np.zeros((len(y), k.features))
    if k.shape == "blob":
        return out
    own = rng.uniform(0, 2 * np.pi, (k.classes, k.modes))[y, mode]
    angle = rng.uniform(0, 2 * np.pi, len(y))
    if k.shape == "crescent":
        angle = own + angle / 2
    if k.shape == "arms":
        angle = own + np.floor(angle * k.arms / (2 * np.pi)) * 2 * np.pi / k.arms
    radius = {
        "arms": rng.random(len(y)),
        "star": np.sqrt(rng.random(len(y))) * np.where((5 * (angle - own) / np.pi) % 2 < 1, 1, 0.4),
    }.get(k.shape, 1.0)
    out[:, :2] = k.size * np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    return out


def _direction(rng: Rng, d: int) -> np.ndarray:
    v = rng.normal(size=d)
    return v / np.linalg.norm(v)


def turned(X: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Turned in the plane of every pair of features (0, 1), (2, 3), ..."""
    X, even = X.copy(), X.shape[1] // 2 * 2
    a, b = X[:, 0:even:2].copy(), X[:, 1:even:2].copy()
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    X[:, 0:even:2], X[:, 1:even:2] = c * a - s * b, s * a + c * b
    return X
