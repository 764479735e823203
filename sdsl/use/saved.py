"""A model as plain data: what StreamClassifier.save and a deployment both write."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdsl.use.following import Following

KIND = "StreamClassifier"


def plain_model(
    params: Mapping[str, Any],
    classes: np.ndarray,
    features: int,
    feature_names: Sequence[str] | None,
    following: Following,
) -> dict[str, Any]:
    """For core/state.py; StreamClassifier.load reads it."""
    overrides = params["overrides"]
    plain = {k: str(v) if isinstance(v, Path) else v for k, v in params.items()}
    return {
        "kind": KIND,
        "params": plain | {"overrides": None if overrides is None else dict(overrides)},
        "classes": {"dtype": classes.dtype.str, "values": classes.tolist()},
        "features": features,
        "feature_names": None if feature_names is None else [str(n) for n in feature_names],
        "following": following.plain(),
    }
