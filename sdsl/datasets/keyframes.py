"""Synthetic streams from keyframes: Gaussians whose mean and variance move linearly between them.

A table is a JSON file, fitted once to an original, or a random path in the same family, to choose
settings on. Segments are spread evenly up to the last keyframe, from the first one (`late` 0) or
one step after it (`late` 1). A time that stands twice in `times` is a jump.
"""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from sdsl.config.refusals import suggest
from sdsl.config.sections import DataConfig
from sdsl.core.rows import Table
from sdsl.core.settings import Count
from sdsl.datasets.sources import Drawn, strict
from sdsl.errors import UserError

Array = np.ndarray
DRAW_SEED = 2205_13066  # fixed: the stream is data, the same in every run whatever the run's seed
KEYFRAMES = 6  # of a random path: at 0, 20, ... 100 % of the stream, as in the originals
# Of a random path, as measured on the tables of the originals: means within CENTRE +- HALF, a step
# per feature and keyframe, and modes of different classes at least NEAR standard deviations apart.
CENTRE, HALF, STEP, NEAR = 5.0, 4.0, 2.2, 1.7
TRIES = 300  # six classes in two features may not fit apart; then the widest try stands


@dataclass(frozen=True)
class Keyframes:
    """A stream in numbers: what each class looks like at the keyframes, and when those are."""

    segment_size: int
    segments: int
    late: int
    times: list[float]
    # label -> its modes, in equal shares: Gaussians with `mean` and `var` [keyframes, d]
    classes: dict[str, list[dict[str, Any]]]


def load(name: str) -> Keyframes:
    """The committed table of that name."""
    known = {file.stem: file for file in Path(__file__).with_name("keyframes").glob("*.json")}
    if name not in known:
        raise UserError(f"There is no keyframe table {name!r}. {suggest(name, known)}")
    values = json.loads(known[name].read_text())
    return Keyframes(**{field.name: values[field.name] for field in fields(Keyframes)})


def basis(times: list[float], late: int, segments: int) -> np.ndarray:
    """[segments, keyframes] weights: row s says how segment s blends the keyframes."""
    s = np.arange(segments)
    t = times[-1] * (s + late) / (segments - 1 + late)
    # side="right" puts a time on a jump into the piece that starts there.
    left = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    grid, weights = np.asarray(times, float), np.zeros((segments, len(times)))
    share = (t - grid[left]) / (grid[left + 1] - grid[left])
    weights[s, left], weights[s, left + 1] = 1 - share, share
    return weights


def draw(table: Keyframes) -> tuple[np.ndarray, np.ndarray]:
    """X [N, d] float32 and y [N] int64: equal class sizes in each segment, rows in random order."""
    rng = np.random.default_rng(DRAW_SEED)
    segments, size = table.segments, table.segment_size
    blend = basis(table.times, table.late, segments)
    counts, features = _shares(size, len(table.classes)), []
    for modes, count in zip(table.classes.values(), counts, strict=True):
        for mode, rows in zip(modes, _shares(count, len(modes)), strict=True):
            mean = blend @ np.asarray(mode["mean"])  # [segments, d]
            sd = np.sqrt(blend @ np.asarray(mode["var"]))
            noise = rng.standard_normal((segments, rows, mean.shape[1]))
            features.append(mean[:, None] + sd[:, None] * noise)  # [segments, rows, d]
    X, y = np.concatenate(features, axis=1), np.repeat(np.arange(len(counts)), counts)
    mixed = rng.permuted(np.tile(np.arange(size), (segments, 1)), axis=1)
    X = np.take_along_axis(X, mixed[..., None], axis=1).reshape(segments * size, -1)
    # Rounding keeps the last bits of one machine's arithmetic out of the data and of its SHA-256.
    return np.round(X, 4).astype(np.float32), y[mixed].reshape(-1)


def _shares(total: int, parts: int) -> list[int]:
    """Splits rows as evenly as whole numbers allow."""
    return [total // parts + (i < total % parts) for i in range(parts)]


@strict
class Regenerated(Drawn):
    """From a table in the folder keyframes/."""

    keyframes: str  # the table's name

    def load(self, data: DataConfig) -> Table:
        found = load(self.keyframes)
        return self.table(*draw(found), found.classes, f"keyframes {self.keyframes}.json")


@strict
class RandomPath(Drawn):
    """From a random path, for choosing settings away from the eight: conf/dataset/dev/path.yaml."""

    path_seed: Count
    classes: Annotated[int, Field(ge=2, le=6)]
    features: Annotated[int, Field(ge=2, le=20)]
    modes: Annotated[int, Field(ge=1, le=2)]
    exchange: bool
    segments: Annotated[int, Field(ge=2, le=1000)]
    segment_size: Annotated[int, Field(ge=2, le=100_000)]

    def __post_init__(self) -> None:
        if self.exchange and (self.classes, self.modes) != (2, 1):
            raise UserError("dataset.exchange=true takes classes=2 and modes=1: two change places.")

    def load(self, data: DataConfig) -> Table:
        path = random_path(self)
        return self.table(*draw(path), path.classes, f"random path {self.path_seed}")


def random_path(config: RandomPath) -> Keyframes:
    """The keyframes of a path, determined by its seed and sizes."""
    classes, d = config.classes, config.features
    rng = np.random.default_rng([config.path_seed, classes, d, config.modes])
    owner = np.repeat(np.arange(classes), config.modes)  # which class each mode belongs to
    if config.exchange:  # straight to each other's places, passing at the originals' distance
        along, across = np.linalg.qr(rng.normal(size=(d, d)))[0][:, :2].T
        p, side, sd = np.linspace(0, 1, KEYFRAMES)[:, None, None], np.array([1, -1])[:, None], 1.3
        path = 3 * (1 - 2 * p) * along + NEAR * sd / 2 * np.sin(np.pi * p) * across
        mean, var = np.round(CENTRE + side * path, 2), np.full((KEYFRAMES, 2, d), sd**2)
    else:
        mean, var = _path(rng, owner, d)
    modes = [{"mean": mean[:, m], "var": var[:, m]} for m in range(len(owner))]
    by_class = {str(c): [modes[m] for m in np.flatnonzero(owner == c)] for c in range(classes)}
    times = np.linspace(0, config.segments, KEYFRAMES).tolist()
    return Keyframes(config.segment_size, config.segments, 0, times, by_class)


def _path(rng: np.random.Generator, owner: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """mean and var [keyframes, modes, d]; each mode is placed clear of those placed before it."""
    # Distance grows with the number of features up to 5, the most an original has.
    scale = min(1.0, np.sqrt(5 / d))
    var = np.round(rng.uniform(1, 4, (KEYFRAMES, len(owner), d)), 2)
    mean = np.zeros_like(var)
    for k in range(KEYFRAMES):
        for m in range(len(owner)):
            widest = -1.0
            for _ in range(TRIES):
                step = rng.normal(0, STEP * scale, d) if k else rng.uniform(-HALF, HALF, d) * scale
                point = step + (mean[k - 1, m] - CENTRE if k else 0)
                point = CENTRE + np.clip(point, -HALF * scale, HALF * scale)
                if (gap := _gap(mean, var, owner, k, m, point)) > widest:
                    widest, mean[k, m] = gap, point
                if gap > NEAR:
                    break
    return np.round(mean, 2), var


def _gap(mean: Array, var: Array, owner: Array, k: int, m: int, point: Array) -> float:
    """The least distance, in standard deviations, to another class on the way to this keyframe."""
    if not (rivals := [r for r in range(m) if owner[r] != owner[m]]):
        return np.inf
    share = np.linspace(0, 1, 9)[:, None, None] if k else np.ones((1, 1, 1))
    before = max(k - 1, 0)
    mine = (1 - share) * mean[before, m] + share * point
    theirs = (1 - share) * mean[before, rivals] + share * mean[k, rivals]
    spread = (var[before, m] + var[before, rivals] + var[k, m] + var[k, rivals]) / 4
    return float(np.sqrt(((mine - theirs) ** 2 / spread).sum(axis=-1)).min())
