"""Random keyframe paths in the family of the UG and MG streams, for choosing settings on."""

from collections.abc import Mapping

import numpy as np

from sdsl.errors import UserError

LIMITS = {"classes": (2, 6), "features": (2, 20), "modes": (1, 2)}
KEYFRAMES = 6  # at 0, 20, ... 100 % of the stream, as in the originals


def table(s: Mapping) -> dict:
    """A keyframe table as `keyframes.draw` takes it, determined by `path_seed` and the sizes."""
    for key, (low, high) in LIMITS.items():
        if not low <= s[key] <= high:
            raise UserError(f"dataset.{key}={s[key]}: expected {low} to {high}.")
    rng = np.random.default_rng([s["path_seed"], s["classes"], s["features"], s["modes"]])
    return {
        "segments": s["segments"],
        "segment_size": s["segment_size"],
        "late": 0,
        "times": np.linspace(0, s["segments"], KEYFRAMES).tolist(),
        "classes": {
            str(c): [_mode(rng, s["features"]) for _ in range(s["modes"])]
            for c in range(s["classes"])
        },
    }


def _mode(rng: np.random.Generator, features: int) -> dict:
    """Means in the originals' range of 1 to 9, steps of up to 4 a keyframe, variances of 1 to 3.5.

    A step is taken on about 2 of the features whatever their number, so that the overlap, which
    falls with every informative feature, stays in the range of the originals.
    """
    mean = [rng.uniform(1, 9, features)]
    for _ in range(KEYFRAMES - 1):
        step = rng.uniform(-4, 4, features)
        mean.append(np.clip(mean[-1] + step, 1, 9))
    var = rng.uniform(1, 3.5, (KEYFRAMES, features))
    return {"mean": np.round(mean, 3).tolist(), "var": np.round(var, 3).tolist()}
