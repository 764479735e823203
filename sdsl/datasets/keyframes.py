"""Draws a synthetic stream from a keyframe table: Gaussians whose mean and variance move linearly.

A table is a JSON file in `keyframes/`. Its segments are spread evenly up to the last keyframe, from
the first one (`late` 0) or from one step after it (`late` 1): both occur in the original files.
A time that stands twice in `times` is a jump.
"""

import json
from dataclasses import dataclass
from importlib import resources

import numpy as np

from sdsl.errors import UserError

DRAW_SEED = 2205_13066  # fixed: the stream is data, the same in every run whatever the run's seed


@dataclass(frozen=True)
class Mode:
    """A Gaussian with a diagonal covariance, at every keyframe."""

    mean: list[list[float]]  # [keyframes, d]
    var: list[list[float]]  # [keyframes, d]


@dataclass(frozen=True)
class Keyframes:
    """A stream in numbers: what each class looks like at the keyframes, and when those are."""

    segment_size: int
    segments: int
    late: int
    times: list[float]
    classes: dict[str, list[Mode]]  # label -> its modes, in equal shares


def _known() -> list[str]:
    folder = resources.files("sdsl.datasets") / "keyframes"
    return sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".json"))


def check_name(name: str) -> None:
    if name not in _known():  # a name, never a path
        raise UserError(f"No keyframe table named {name!r}; known: {', '.join(_known())}.")


def load(name: str) -> Keyframes:
    """The committed keyframe table of that name."""
    check_name(name)
    values = json.loads(
        (resources.files("sdsl.datasets") / "keyframes" / f"{name}.json").read_text()
    )
    classes = {
        label: [Mode(**mode) for mode in modes] for label, modes in values["classes"].items()
    }
    kept = {key: values[key] for key in ("segment_size", "segments", "late", "times")}
    return Keyframes(**kept, classes=classes)


def basis(times: list[float], late: int, segments: int) -> np.ndarray:
    """[segments, keyframes] weights: row s says how segment s blends the keyframes."""
    s = np.arange(segments)
    t = times[-1] * (s + late) / (segments - 1 + late)
    # side="right" puts a time on a jump into the piece that starts there.
    left = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    grid = np.asarray(times, float)
    share = (t - grid[left]) / (grid[left + 1] - grid[left])
    weights = np.zeros((segments, len(times)))
    weights[s, left] = 1 - share
    weights[s, left + 1] = share
    return weights


def draw(table: Keyframes, seed: int = DRAW_SEED) -> tuple[np.ndarray, np.ndarray]:
    """X [N, d] float32 and y [N] int64: equal class sizes in each segment, rows in random order."""
    rng = np.random.default_rng(seed)
    segments, size = table.segments, table.segment_size
    blend = basis(table.times, table.late, segments)
    features, labels = [], []
    counts = _shares(size, len(table.classes))
    for c, (modes, count) in enumerate(zip(table.classes.values(), counts, strict=True)):
        features.append(_draw_class(modes, blend, count, rng))  # [segments, count, d]
        labels.append(np.full((segments, count), c, dtype=np.int64))
    X, y = np.concatenate(features, axis=1), np.concatenate(labels, axis=1)
    mixed = rng.permuted(np.tile(np.arange(size), (segments, 1)), axis=1)
    X = np.take_along_axis(X, mixed[..., None], axis=1).reshape(segments * size, -1)
    y = np.take_along_axis(y, mixed, axis=1).reshape(-1)
    # Rounding keeps the last bits of one machine's arithmetic out of the data and of its SHA-256.
    return np.round(X, 4).astype(np.float32), y


def _draw_class(
    modes: list[Mode], blend: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """[segments, count, d]"""
    parts = []
    for mode, rows in zip(modes, _shares(count, len(modes)), strict=True):
        mean = blend @ np.asarray(mode.mean, float)  # [segments, d]
        sd = np.sqrt(blend @ np.asarray(mode.var, float))
        noise = rng.standard_normal((len(blend), rows, mean.shape[1]))
        parts.append(mean[:, None] + sd[:, None] * noise)
    return np.concatenate(parts, axis=1)


def _shares(total: int, parts: int) -> list[int]:
    """Splits rows as evenly as whole numbers allow."""
    return [total // parts + (i < total % parts) for i in range(parts)]
