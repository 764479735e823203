"""What the parts run on: a composed config and a made-up drifting stream of any size."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from sdsl.config.compose import home
from sdsl.core.table import Table


def config(*overrides: str) -> dict[str, Any]:
    """The config that `python -m sdsl.run <overrides>` would run, as a plain dict."""
    os.environ["SDSL_HOME"] = str(home())
    with initialize_config_dir(str(home() / "conf"), version_base="1.3"):
        return OmegaConf.to_container(compose("config", list(overrides)), resolve=True)


def drifting(T: int, rows: int = 1000, d: int = 2, classes: int = 2) -> tuple[Table, dict]:
    """Gaussian classes on a circle that turns once; a table and its dataset section."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(classes), (T + 1) * rows // classes + 1)[: (T + 1) * rows]
    angle = 2 * np.pi * (y / classes + np.linspace(0, 1, len(y)))
    X = rng.normal(0, 1, (len(y), d)).astype(np.float32)
    X[:, :2] += 3 * np.c_[np.cos(angle), np.sin(angle)]
    names = tuple(str(c) for c in range(classes))
    table = Table("drifting", X, y, names, "made by sdsl.bench", "own", "0" * 64)
    test = rows * 3 // 10
    return table, {"name": "drifting", "segment_size": rows, "test_size": test, "order": "file"}


def on(dataset: dict, overrides: Sequence[str]) -> dict[str, Any]:
    """A composed config whose dataset is the made-up one."""
    return config(*overrides) | {"dataset": dataset}
