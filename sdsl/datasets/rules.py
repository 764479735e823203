"""Development streams like the tables that people have: y = rule(z), X = columns that show z.

z are hidden quantities [n, d], related to each other. A column shows each one: a sensor with a unit
of its own, a category or a count. Other columns say nothing about y. Each setting acts alone.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from sdsl.config.sections import DataConfig
from sdsl.core.rows import Table
from sdsl.core.settings import Count, Share, Weight
from sdsl.datasets.shapes import Rng, turned
from sdsl.datasets.sources import Drawn, strict
from sdsl.errors import UserError

POOL = 8  # rows drawn for each one kept, to choose class shares from
START = 20_000  # rows drawn to look at the beginning of the stream
LEAST = 5  # rows of each class in the first segment, where they fit
UNITS, LEVELS, ABSURD = [0.01, 0.1, 1, 10, 1000], [0, 3, 30], [-999, 0, 1e6]


@strict
class Rules(Drawn):
    """The knobs of conf/dataset/dev/table.yaml, which says what they do."""

    table_seed: Count
    classes: Annotated[int, Field(ge=2, le=40)]
    features: Annotated[int, Field(ge=2, le=1000)]
    categories: Annotated[int, Field(ge=0, le=100)]
    levels: Annotated[int, Field(ge=2, le=100)]
    counts: Annotated[int, Field(ge=0, le=1000)]
    useless: Annotated[int, Field(ge=0, le=1000)]
    growing: Annotated[int, Field(ge=0, le=100)]
    related: Share
    heavy: Weight
    wild: Share
    rule: Literal["trees", "linear", "clouds"]
    depth: Annotated[int, Field(ge=1, le=8)]
    modes: Annotated[int, Field(ge=1, le=20)]
    gap: Weight
    blur: Weight
    noise: Share
    balance: Annotated[float, Field(gt=0, le=1)] | None
    swing: Weight
    vanish: Count
    ages: Weight
    jump: Weight
    jump_at: Share
    wander: Weight
    turn: float
    segments: Annotated[int, Field(ge=2, le=10_000)]
    segment_size: Annotated[int, Field(ge=2, le=100_000)]

    def __post_init__(self) -> None:
        if 2 * self.vanish > self.classes:
            raise UserError(f"dataset.vanish={self.vanish}: at most half of the classes may.")
        if self.rule == "trees" and 2**self.depth < self.classes:
            raise UserError(f"dataset.depth={self.depth}: fewer regions than classes. Raise it.")

    def load(self, data: DataConfig) -> Table:
        return self.table(*draw(self), map(str, range(self.classes)), f"table {self.table_seed}")


def draw(k: Rules) -> tuple[np.ndarray, np.ndarray]:
    """X float32 [N, columns] and y int64 [N]."""
    world, rows, columns, labels = np.random.default_rng(k.table_seed).spawn(4)
    C, S, n, d = k.classes, k.segments, k.segment_size, k.features + k.categories + k.counts
    shared = world.normal(size=(max(1, d // 3), d))
    shared /= np.linalg.norm(shared, axis=0)
    centres = world.normal(size=(C * k.modes if k.rule == "clouds" else C, d))
    centres *= k.gap if k.rule == "clouds" else 1 / np.linalg.norm(centres, axis=1)[:, None]
    wave = world.normal(size=(3, d)) / np.arange(1, 4)[:, None]

    def hidden(time: np.ndarray) -> np.ndarray:  # [n] -> z [n, d]
        z = np.sqrt(1 - k.related) * rows.normal(size=(len(time), d))
        z += np.sqrt(k.related) * rows.normal(size=(len(time), len(shared))) @ shared
        if k.rule == "clouds":
            z += centres[rows.integers(len(centres), size=len(time))]
        return z + k.wander * np.sin(np.pi / 2 * time[:, None] * np.arange(1, 4)) @ wave

    start = hidden(np.zeros(START))  # for shares and scales
    tree = _tree(world, hidden(rows.random(START)), start, k)

    def classes(z: np.ndarray, time: np.ndarray) -> np.ndarray:  # [n]
        u = turned(z, np.radians(k.turn) * time) + k.blur * rows.normal(size=z.shape)
        if k.rule == "trees":
            return tree[2][_leaf(u, *tree[:2])]
        return (u @ centres.T - (centres**2).sum(1) / 2).argmax(1) % C  # nearest, highest score

    usual = np.bincount(classes(start, np.zeros(START)), minlength=C) / START
    weight = np.log(k.balance or 1) * world.permutation(C) / (C - 1) - np.log(usual + 1 / START)
    weight *= k.balance is not None
    phase = 2 * np.pi * (world.random() + world.permutation(C) / C)
    away = world.permutation(C) < k.vanish
    parts = []
    for s, time in enumerate(np.linspace(0, 1, S * n * POOL, endpoint=False).reshape(S, -1)):
        z = hidden(time)
        y = classes(z, time)
        lure = weight[y] + rows.gumbel(size=len(y))  # the n highest are a sample
        lure += k.swing * (np.sin(4 * np.pi * time + phase[y]) - np.sin(phase[y]))
        lure[away[y] & (np.abs(time - 0.5) < 1 / 6)] = -np.inf
        for c in range(C if s == 0 else 0):
            lure[np.flatnonzero(y == c)[: min(LEAST, n // C)]] = np.inf
        kept = np.sort(np.argsort(-lure)[:n])
        parts.append((z[kept], y[kept], time[kept, None]))
    z, y, time = map(np.concatenate, zip(*parts, strict=True))
    y = (y + (labels.random(len(y)) < k.noise) * labels.integers(1, C, len(y))) % C
    return _columns(columns, (z - start.mean(0)) / start.std(0), time, k).astype(np.float32), y


def _tree(rng: Rng, z: np.ndarray, start: np.ndarray, k: Rules) -> tuple[np.ndarray, ...]:
    """A random tree: feature and threshold of each node, class of each leaf (the fullest first)."""
    feature = rng.integers(z.shape[1], size=2**k.depth - 1)
    threshold, at = np.zeros(len(feature)), np.zeros(len(z), int)
    for i, j in enumerate(feature):
        here = np.flatnonzero(at == i)
        threshold[i] = np.quantile(z[here, j], rng.uniform(0.35, 0.65))
        at[here] = 2 * i + 1 + (z[here, j] > threshold[i])
    full = np.argsort(-np.bincount(_leaf(start, feature, threshold), minlength=2**k.depth))
    return feature, threshold, np.resize(rng.permutation(k.classes), len(full))[np.argsort(full)]


def _leaf(z: np.ndarray, feature: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    at = np.zeros(len(z), int)
    while (at < len(feature)).all():  # all leaves are as deep
        at = 2 * at + 1 + (z[np.arange(len(z)), feature[at]] > threshold[at])
    return at - len(feature)


def _columns(rng: Rng, z: np.ndarray, time: np.ndarray, k: Rules) -> np.ndarray:
    """Sensors, useless ones, categories, counts, growing columns: [N, columns]."""
    N, width, f = len(z), k.features + k.useless, k.features + k.categories
    cuts = np.sort(rng.normal(size=(k.categories, k.levels - 1)))  # rare levels and common ones
    level = (z[:, k.features : f, None] > cuts).sum(2)  # [N, categories]
    chosen = (level[:, :, None] == np.arange(k.levels)).reshape(N, -1)
    counted = rng.poisson(np.exp(np.minimum(rng.normal(1, 1, k.counts) + 0.7 * z[:, f:], 15)))
    x = np.c_[z[:, : k.features], rng.normal(size=(N, k.useless))]
    worn = time ** rng.choice([0.5, 1, 2], width)  # early, steadily, late
    gain, offset = k.ages * rng.normal(size=(2, width))
    x = x * np.exp(gain / 4 * worn) + offset * worn
    if k.jump:
        x += k.jump * rng.normal(size=width) * (time >= k.jump_at)
    if k.heavy:  # log-normal and symmetric by turns
        bent = np.clip(k.heavy * x, -15, 15)
        x = np.where(np.arange(width) % 2, np.sinh(bent), np.exp(bent))
    # Rounding keeps the last bits of one machine's arithmetic out of the data and of its SHA-256.
    x = np.round(x + rng.choice(LEVELS, width), 4) * rng.choice(UNITS, width)
    odd = (rng.random((N, 1)) < k.wild) & (rng.random((N, width)) < 0.2)
    x[odd] = rng.choice(ABSURD, odd.sum())
    grown = np.cumsum(rng.exponential(size=(N, k.growing)), axis=0)
    return np.c_[x, chosen, counted, np.round(grown * rng.choice(UNITS, k.growing), 2)]
