"""Random keyframe paths in the family of the UG and MG streams, to choose settings on.

Measured on the fitted tables of the three originals: means within 1 to 9, a step of 1.3 to 2.6 per
feature and keyframe, variances of 1 to 4, and modes of different classes never nearer than 1.6 to
2.0 standard deviations.
"""

from dataclasses import dataclass

import numpy as np

from sdsl.core.fields import number
from sdsl.datasets.keyframes import Keyframes, Mode
from sdsl.datasets.limits import refuse_large
from sdsl.errors import UserError

KEYFRAMES = 6  # at 0, 20, ... 100 % of the stream, as in the originals
CENTRE, HALF, STEP, NEAR = 5.0, 4.0, 2.2, 1.7
TRIES = 300  # six classes in two features may not fit apart; then the widest try stands


@dataclass(kw_only=True)
class PathConfig:
    """The sizes of a stream and the seed of its path."""

    path_seed: int = number(low=0)
    classes: int = number(low=2, high=6)
    features: int = number(low=2, high=20)
    modes: int = number(low=1, high=2)  # 2: each class is an equal mixture of two Gaussians
    exchange: bool  # two classes that walk to each other's places
    segments: int = number(low=2, high=1000)
    segment_size: int = number(low=2)

    def check_path(self) -> None:
        """Refuses settings that do not go together."""
        if self.exchange and (self.classes, self.modes) != (2, 1):
            raise UserError("dataset.exchange=true takes classes=2 and modes=1: two change places.")
        refuse_large(self.segments, self.segment_size, self.features)


def random_path(config: PathConfig) -> Keyframes:
    """The keyframes of a path, determined by its seed and sizes."""
    classes, d = config.classes, config.features
    rng = np.random.default_rng([config.path_seed, classes, d, config.modes])
    owner = np.repeat(np.arange(classes), config.modes)  # which class each mode belongs to
    mean, var = _exchange(rng, d) if config.exchange else _path(rng, owner, d)
    return Keyframes(
        segment_size=config.segment_size,
        segments=config.segments,
        late=0,
        times=np.linspace(0, config.segments, KEYFRAMES).tolist(),
        classes={
            str(c): [
                Mode(mean[:, m].tolist(), var[:, m].tolist()) for m in np.flatnonzero(owner == c)
            ]
            for c in range(classes)
        },
    )


def _exchange(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that walk straight to each other's places and pass at the originals' distance."""
    along, across = np.linalg.qr(rng.normal(size=(d, d)))[0][:, :2].T
    p, side, sd = np.linspace(0, 1, KEYFRAMES)[:, None, None], np.array([1, -1])[:, None], 1.3
    path = 3 * (1 - 2 * p) * along + NEAR * sd / 2 * np.sin(np.pi * p) * across
    return np.round(CENTRE + side * path, 2), np.full((KEYFRAMES, 2, d), sd**2)


def _path(rng: np.random.Generator, owner: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """mean and var [keyframes, modes, d]; each mode is placed clear of those placed before it."""
    # Distance grows with the number of features; past 5, the most an original has, it is held.
    scale = min(1.0, np.sqrt(5 / d))
    var = np.round(rng.uniform(1, 4, (KEYFRAMES, len(owner), d)), 2)
    mean = np.zeros_like(var)
    for k in range(KEYFRAMES):
        for m in range(len(owner)):
            widest = -1.0
            for _ in range(TRIES):
                if k == 0:
                    point = rng.uniform(-HALF, HALF, d) * scale
                else:
                    point = mean[k - 1, m] - CENTRE + rng.normal(0, STEP * scale, d)
                point = CENTRE + np.clip(point, -HALF * scale, HALF * scale)
                gap = _gap(mean, var, owner, k, m, point)
                if gap > widest:
                    widest, mean[k, m] = gap, point
                if gap > NEAR:
                    break
    return np.round(mean, 2), var


def _gap(
    mean: np.ndarray, var: np.ndarray, owner: np.ndarray, k: int, m: int, point: np.ndarray
) -> float:
    """The least distance, in standard deviations, to another class on the way to this keyframe."""
    rivals = [r for r in range(m) if owner[r] != owner[m]]
    if not rivals:
        return np.inf
    share = np.linspace(0, 1, 9)[:, None, None] if k else np.ones((1, 1, 1))
    before = max(k - 1, 0)
    mine = (1 - share) * mean[before, m] + share * point
    theirs = (1 - share) * mean[before, rivals] + share * mean[k, rivals]
    spread = (var[before, m] + var[before, rivals] + var[k, m] + var[k, rivals]) / 4
    return float(np.sqrt(((mine - theirs) ** 2 / spread).sum(axis=-1)).min())
