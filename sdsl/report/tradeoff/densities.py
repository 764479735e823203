"""log p_s(x, c): models of one segment's rows with their true labels, one per class."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from sklearn.covariance import ledoit_wolf
from sklearn.mixture import GaussianMixture

Density = Callable[[np.ndarray], np.ndarray]  # x [n, d] -> log p(x) [n]
SMALL = 20_000  # rows up to which kernels are affordable
ROWS_PER_FEATURE = 10  # below this many, a class cannot tell two modes from one
FLOOR = 1e-3  # added to variances of standardised features: some are constant within a segment


def families(rows: int, features: int, fewest: int) -> dict[str, Callable[..., list[Density]]]:
    """The kinds of model that suit a stream; `fewest`: rows of the rarest class of a segment."""
    kinds: dict[str, Callable[..., list[Density]]] = {"gaussian": gaussians, "shared": shared}
    if fewest >= ROWS_PER_FEATURE * features:
        kinds["mixture"] = mixtures
    if rows <= SMALL:
        kinds |= {f"kernel {width}": _kernel(width) for width in (0.05, 0.1, 0.2)}
    return kinds


def gaussians(parts: list[np.ndarray]) -> list[Density]:
    """One Gaussian per class, its covariance shrunk as Ledoit and Wolf say."""
    return [gaussian(x.mean(0), _covariance(x)) for x in parts]


def shared(parts: list[np.ndarray]) -> list[Density]:
    """One Gaussian per class, all with one covariance."""
    covariance = _covariance(np.concatenate([x - x.mean(0) for x in parts]))
    return [gaussian(x.mean(0), covariance) for x in parts]


def mixtures(parts: list[np.ndarray]) -> list[Density]:
    """Two Gaussians per class."""
    models = [GaussianMixture(2, reg_covar=FLOOR, random_state=0).fit(x) for x in parts]
    return [model.score_samples for model in models]


def _kernel(width: float) -> Callable[[list[np.ndarray]], list[Density]]:
    def kernels(parts: list[np.ndarray]) -> list[Density]:
        return [_kernel_density(x, width * np.sqrt(x.shape[1])) for x in parts]

    return kernels


def _kernel_density(rows: np.ndarray, width: float) -> Density:
    """A Gaussian of this width around every row."""

    def density(x: np.ndarray) -> np.ndarray:
        squares = (x**2).sum(1)[:, None] - 2 * x @ rows.T + (rows**2).sum(1)  # [n, rows]
        scale = x.shape[1] * np.log(width) + np.log(len(rows))
        return logsumexp(-squares / (2 * width**2), axis=1) - scale

    return density


def gaussian(mean: np.ndarray, covariance: np.ndarray) -> Density:
    factor = np.linalg.cholesky(covariance)
    half = np.log(np.diag(factor)).sum() + 0.5 * len(mean) * np.log(2 * np.pi)

    def density(x: np.ndarray) -> np.ndarray:
        z = solve_triangular(factor, (x - mean).T, lower=True)
        return -0.5 * (z**2).sum(0) - half

    return density


def _covariance(x: np.ndarray) -> np.ndarray:
    shrunk: Any = ledoit_wolf(x)[0]
    return shrunk + FLOOR * np.eye(x.shape[1])


def joint(
    fit: Callable[[list[np.ndarray]], list[Density]], X: np.ndarray, y: np.ndarray, classes: int
) -> Callable[[np.ndarray], np.ndarray]:
    """x [n, d] -> log p(x, c) [C, n], by rows X [n, d] with labels y; -inf for absent classes."""
    present = [c for c in range(classes) if (y == c).any()]
    parts = [X[y == c] for c in present]
    shares = [len(x) / len(X) for x in parts]
    # A class of one row has no spread of its own.
    parts = [x if len(x) > 1 else np.concatenate([x, x + FLOOR]) for x in parts]
    models = fit(parts)

    def log_joint(x: np.ndarray) -> np.ndarray:
        out = np.full((classes, len(x)), -np.inf)
        for c, share, model in zip(present, shares, models, strict=True):
            out[c] = np.log(share) + model(x)
        return out

    return log_joint


def fewest(labels: Iterator[np.ndarray]) -> int:
    """The rows of the rarest class in any segment that has it."""
    return min(int(np.unique(y, return_counts=True)[1].min()) for y in labels)
