"""What many tests need: a composed config, and small made-up streams that are none of the eight."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import torch

from sdsl import experiment
from sdsl.config.build import build
from sdsl.config.compose import component, merged  # noqa: F401
from sdsl.config.compose import composed as config
from sdsl.core.stream import Cut
from sdsl.core.table import Table
from sdsl.core.training import Training

torch.set_num_threads(1)  # as a run does

ROOT = Path(__file__).parents[1]
METHODS = sorted(path.stem for path in (ROOT / "conf" / "method").glob("*.yaml"))


def training(**changes) -> Training:
    """conf/training/default.yaml, some values changed."""
    return build(Training, config()["learner"]["pretrain"] | {"steps": 100} | changes, "training")


def table(X, y, name: str = "made-up") -> Table:
    y = np.asarray(y, dtype=np.int64)
    classes = tuple(str(c) for c in range(y.max() + 1))
    return Table(name, np.asarray(X, np.float32), y, classes, "made by a test", "own", "0" * 64)


def blobs(rows=1200, classes=2, d=2, drift=0.0, spread=0.5, seed=0) -> Table:
    """Gaussian classes on a circle of radius 3 that turns by `drift` radians over the stream."""
    rng = np.random.default_rng(seed)
    y = rng.permuted(np.tile(np.arange(classes), (rows // classes, 1)), axis=1).ravel()
    angle = 2 * np.pi * y / classes + np.linspace(0, drift, len(y))
    X = rng.normal(0, spread, (len(y), d))
    X[:, :2] += 3 * np.c_[np.cos(angle), np.sin(angle)]
    return table(X, y)


def small(segment_size: int = 100, test_size: int = 30) -> dict:
    """A dataset section for a made-up table."""
    sizes = {"segment_size": segment_size, "test_size": test_size}
    return config("dataset=own/table")["dataset"] | sizes | {"name": "made-up", "gold_per_class": 5}


def cut(segment_size: int = 100, test_size: int = 30, gold_per_class: int | None = 5) -> Cut:
    return Cut(segment_size, test_size, gold_per_class, None)


def trial(cfg: dict, seeds=(0, 1), data: Table | None = None) -> experiment.Trial:
    """A config run on a made-up table."""
    data = data if data is not None else blobs(drift=1.0)
    return experiment.run(experiment.setup(cfg), seeds, data)


def run(*overrides: str, seeds=(0, 1), data: Table | None = None, **sizes) -> experiment.Trial:
    """The same from overrides."""
    return trial(config(*overrides) | {"dataset": small(**sizes)}, seeds, data)


# The fewest of everything that still runs every line of a method.
BRIEF = {"steps": 4, "iterations": 3, "adapt_steps": 3, "epochs": 1, "views": 2, "rounds": 3}


def changed(cfg: dict, settings: dict) -> dict:
    """The config with some values set by their dotted names: much cheaper than composing anew."""
    cfg = deepcopy(cfg)
    for name, value in settings.items():
        *path, key = name.split(".")
        section = cfg
        for part in path:
            section = section[part]
        assert key in section, name
        section[key] = value
    return cfg


def brief(section: dict) -> dict:
    """A config, or a part of it, with every phase of training cut short."""
    cut = {}
    for key, value in section.items():
        if isinstance(value, dict):
            cut[key] = brief(value)
        else:
            cut[key] = min(value, BRIEF[key]) if key in BRIEF else value
    return cut


# A slow, plain second opinion on the learner: one replica, NumPy, float64.


def plain(theta, s: int) -> list[np.ndarray]:
    """Replica s of stacked parameters."""
    return [layer[s].detach().double().numpy().copy() for layer in theta]


def mlp(x: np.ndarray, theta: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """(the input of every layer, logits)"""
    inputs = [np.asarray(x, float)]
    for layer in theta[:-1]:
        inputs.append(np.maximum(inputs[-1] @ layer[:-1] + layer[-1], 0))
    return inputs, inputs[-1] @ theta[-1][:-1] + theta[-1][-1]


def softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def row_losses(x: np.ndarray, y: np.ndarray, theta: list[np.ndarray]) -> np.ndarray:
    """Cross-entropy of every row."""
    return -np.log(softmax(mlp(x, theta)[1])[np.arange(len(y)), y])


def numeric_gradient(loss, theta: list[np.ndarray], eps=1e-6) -> list[np.ndarray]:
    """d loss(theta) / d theta by central differences."""
    grads = [np.zeros_like(layer) for layer in theta]
    for layer, grad in zip(theta, grads, strict=True):
        for place in np.ndindex(layer.shape):
            here = layer[place]
            layer[place] = here + eps
            up = loss(theta)
            layer[place] = here - eps
            grad[place] = (up - loss(theta)) / (2 * eps)
            layer[place] = here
    return grads
