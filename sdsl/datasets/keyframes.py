"""Draws a synthetic stream from a keyframe table: Gaussians whose mean and variance move linearly.

A table is a JSON file in `keyframes/`. Its segments are spread evenly up to the last keyframe, from
the first one (`late` 0) or from one step after it (`late` 1): both occur in the original files.
A time that stands twice in `times` is a jump.
"""

import json
from collections.abc import Mapping
from importlib import resources

import numpy as np

from sdsl.errors import UserError

DRAW_SEED = 2205_13066  # fixed: the stream is data, the same in every run whatever the run's seed


def table(name: str) -> dict:
    """The committed keyframe table of that name."""
    folder = resources.files("sdsl.datasets") / "keyframes"
    known = sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".json"))
    if name not in known:  # a name, never a path
        raise UserError(f"No keyframe table named {name!r}; known: {', '.join(known)}.")
    return json.loads((folder / f"{name}.json").read_text())


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


def draw(spec: Mapping, seed: int = DRAW_SEED) -> tuple[np.ndarray, np.ndarray]:
    """X [N, d] float32 and y [N] int64: equal class sizes in each segment, rows in random order."""
    rng = np.random.default_rng(seed)
    segments, size = spec["segments"], spec["segment_size"]
    classes = list(spec["classes"].values())
    blend = basis(spec["times"], spec["late"], segments)
    X, y = [], []
    for c, (modes, count) in enumerate(zip(classes, _shares(size, len(classes)), strict=True)):
        X.append(_draw_class(modes, blend, count, rng))  # [segments, count, d]
        y.append(np.full((segments, count), c, dtype=np.int64))
    X, y = np.concatenate(X, axis=1), np.concatenate(y, axis=1)
    mixed = rng.permuted(np.tile(np.arange(size), (segments, 1)), axis=1)
    X = np.take_along_axis(X, mixed[..., None], axis=1).reshape(segments * size, -1)
    y = np.take_along_axis(y, mixed, axis=1).reshape(-1)
    # Rounding keeps the last bits of one machine's arithmetic out of the data and of its SHA-256.
    return np.round(X, 4).astype(np.float32), y


def _draw_class(modes: list[Mapping], blend: np.ndarray, count: int, rng) -> np.ndarray:
    parts = []
    for mode, rows in zip(modes, _shares(count, len(modes)), strict=True):
        mean = blend @ np.asarray(mode["mean"], float)  # [segments, d]
        sd = np.sqrt(blend @ np.asarray(mode["var"], float))
        noise = rng.standard_normal((len(blend), rows, mean.shape[1]))
        parts.append(mean[:, None] + sd[:, None] * noise)
    return np.concatenate(parts, axis=1)


def _shares(total: int, parts: int) -> list[int]:
    """Splits rows as evenly as whole numbers allow."""
    return [total // parts + (i < total % parts) for i in range(parts)]
