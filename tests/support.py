"""Made-up tables, short runs of a composed config, and slow NumPy twins of the network."""

from collections.abc import Callable, Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from sdsl.core.kernel import blas
from sdsl.core.rows import Rows, Table
from sdsl.core.training import Training

torch.set_num_threads(1)  # as a run does
blas().limit(limits=1)

ROOT = Path(__file__).parents[1]


def options(group: str) -> list[str]:
    """The choices of a group of conf/, as `group=` takes them."""
    folder = ROOT / "conf" / group
    files = folder.rglob("*.yaml")
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in files)


METHODS = options("method")


def table(X: np.ndarray, y: np.ndarray, name: str = "made-up") -> Table:
    y = np.asarray(y, dtype=np.int64)
    classes = tuple(str(c) for c in range(y.max() + 1))
    return Table(name, np.asarray(X, np.float32), y, classes, "made by a test", "own", "0" * 64)


def blobs(
    rows: int = 1200,
    classes: int = 2,
    d: int = 2,
    drift: float = 0.0,
    spread: float = 0.5,
    seed: int = 0,
) -> Table:
    """Gaussian classes on a circle of radius 3 that turns by `drift` radians over the stream."""
    rng = np.random.default_rng(seed)
    y = rng.permuted(np.tile(np.arange(classes), (rows // classes, 1)), axis=1).ravel()
    angle = 2 * np.pi * y / classes + np.linspace(0, drift, len(y))
    X = rng.normal(0, spread, (len(y), d))
    X[:, :2] += 3 * np.c_[np.cos(angle), np.sin(angle)]
    return table(X, y)


def some_rows(n: int, d: int = 2, classes: int = 3, seed: int = 0) -> Rows:
    """Normal rows with random labels."""
    g = torch.Generator().manual_seed(seed)
    return Rows(torch.randn(n, d, generator=g), torch.randint(0, classes, (n,), generator=g))


def training(**changes: Any) -> Training:
    """conf/training/default.yaml with 100 steps, some values changed."""
    shipped = yaml.safe_load((ROOT / "conf" / "training" / "default.yaml").read_text())
    shipped.pop("_target_", None)
    return Training(**shipped | {"steps": 100} | changes)


# Runs


def composed(*overrides: str, segment_size: int = 100, test_size: int = 30) -> dict[str, Any]:
    """The config of a run on a made-up table."""
    from sdsl.config import composed as compose  # the core's tests need no Hydra

    config = compose("dataset=own/table", *overrides)
    config["dataset"] |= {"segment_size": segment_size, "test_size": test_size}
    return config


def run(*overrides: str, data: Table | None = None, seed: int = 0, **sizes: int) -> Any:
    """The Trial of a run on a made-up table."""
    return run_config(composed(*overrides, **sizes), data, seed)


def run_config(config: Mapping[str, Any], data: Table | None = None, seed: int = 0) -> Any:
    from sdsl import experiment
    from sdsl.config import setup

    return experiment.run(setup(config), seed, data if data is not None else blobs(drift=1.0))


# The fewest of everything that still runs every line of a method.
FEW = {
    **{"steps": 4, "iterations": 3, "adapt_steps": 3, "epochs": 1, "views": 2, "rounds": 3},
    **{"n_estimators": 3, "max_iter": 30},
}


def brief(section: Any) -> Any:
    """A config, or a part of it, with every phase of training cut short."""
    if isinstance(section, list):
        return [brief(item) for item in section]
    if not isinstance(section, Mapping):
        return section
    few = {k: min(v, FEW[k]) for k, v in section.items() if k in FEW and isinstance(v, int)}
    return {key: brief(value) for key, value in section.items()} | few


def changed(config: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The config, some values set by their dotted names: much cheaper than composing anew."""
    for name, value in settings.items():
        *path, key = name.split(".")
        section = reduce(getitem, path, config)
        assert key in section, name
        section[key] = value
    return config


def bits(data: Any) -> Any:
    """Plain data with bytes in the place of numbers."""
    if isinstance(data, Mapping):
        return {key: bits(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [bits(item) for item in data]
    if isinstance(data, torch.Tensor):
        data = data.numpy()
    return data.tobytes() if hasattr(data, "tobytes") else data


def left_behind(outcome: Any) -> dict[str, Any]:
    """The bits of all of an outcome but the clock."""
    parts = {k: v for k, v in vars(outcome).items() if k not in ("seconds", "learner", "scaler")}
    curves = {f"curve {name}": curve for name, curve in parts.pop("curves").items()}
    return bits(parts | curves | outcome.learner.state() | vars(outcome.scaler))


def taken(going: Any, stream: Any, steps: range) -> list[Any]:
    """The bits that steps leave: labels, rows, logs, predictions, and the state at the end."""
    left = []
    for t in steps:
        pseudo, log = going.step(stream.segment(t), stream.truth(t))
        assert np.isfinite([*log.values()]).all(), log
        predicted = going.learner.predict(going.scaler(Rows.cat(*stream.tests()).X))
        left += bits([pseudo.y, vars(pseudo.rows), log, predicted])
    return [*left, bits(going.state() | {"seconds": None})]


# A slow, plain second opinion on the learner, in NumPy and float64.

Arrays = list[np.ndarray]


def plain(tensors: list[torch.Tensor]) -> Arrays:
    return [layer.detach().double().numpy().copy() for layer in tensors]


def mlp(x: np.ndarray, theta: Arrays) -> tuple[Arrays, np.ndarray]:
    """(the input of every layer, logits)"""
    inputs = [np.asarray(x, float)]
    for layer in theta[:-1]:
        inputs.append(np.maximum(inputs[-1] @ layer[:-1] + layer[-1], 0))
    return inputs, inputs[-1] @ theta[-1][:-1] + theta[-1][-1]


def softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def row_losses(x: np.ndarray, y: np.ndarray, theta: Arrays) -> np.ndarray:
    """Cross-entropy of every row."""
    return -np.log(softmax(mlp(x, theta)[1])[np.arange(len(y)), y])


def numeric_gradient(loss: Callable[[Arrays], float], theta: Arrays, eps: float = 1e-6) -> Arrays:
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
