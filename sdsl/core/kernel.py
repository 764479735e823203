"""The network in compiled loops: its outputs, its losses, and their gradient by hand.

Encoder f: h_i = relu([h_{i-1} 1] theta_i), layer by layer. Classifier g: logits = [h 1] theta_last.

theta: an array [in + 1, out] per layer, its last row the bias. h: the input of every layer [b, in],
h[0] = x. slopes: d loss / d every layer's output before its ReLU [b, out]; the last of them first
takes the logits. The same arrays serve every step, so that a whole update stays in the cache. For a
network of this size torch would take longer to dispatch an update than to compute it.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.linalg  # noqa: F401  the BLAS that numba calls: loaded here, so that `blas` finds it
from threadpoolctl import ThreadpoolController

Array = np.ndarray
Number = float | np.floating
Arrays = tuple[Array, ...]  # one per layer
NO_PULL = np.empty((0, 0), np.float32)
# numba does not notice that a loop in another file has changed: a cache for each version of these.
SOURCES = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
CACHE = Path(__file__).parent / "__pycache__" / hashlib.sha256(SOURCES).hexdigest()[:16]
numba.config.CACHE_DIR = numba.config.CACHE_DIR or str(CACHE)  # type: ignore[attr-defined]


def compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    """The loop as machine code, which numba makes at its first call and keeps on disk.

    No fast math: sums keep their order, so a seed gives the same bits.
    """
    try:
        return numba.njit(cache=True, error_model="numpy")(loop)
    except RuntimeError:  # no folder for a cache: compiled in every process
        return numba.njit(error_model="numpy")(loop)


@cache
def blas() -> ThreadpoolController:
    """Sets the threads of matrix products in compiled loops: `with blas().limit(limits=1)`."""
    return ThreadpoolController().select(user_api="blas")


class Buffers(NamedTuple):
    """The arrays that an update of b rows writes."""

    h: Arrays
    slopes: Arrays
    grads: Arrays  # [in + 1, out]


def buffers(theta: Arrays, b: int) -> Buffers:
    h = tuple(np.empty((b, len(layer) - 1), np.float32) for layer in theta)
    slopes = tuple(np.empty((b, layer.shape[1]), np.float32) for layer in theta)
    return Buffers(h, slopes, zeros(theta))


def zeros(theta: Arrays) -> Arrays:
    return tuple(np.zeros_like(layer) for layer in theta)


# Plain loops and not array expressions: those take numba ten times as long to compile.


@compiled
def add(alpha: float, x: Array, out: Array) -> None:
    """out <- out + alpha x, for arrays [n, m]."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] += np.float32(alpha) * x[i, j]


@compiled
def copy(x: Array, out: Array) -> None:
    """out <- x, for arrays [n, m]."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j]


@compiled
def gather(X: Array, y: Array, rows: Array, x: Array, label: Array) -> None:
    """x_i <- X[rows_i], label_i <- y[rows_i]."""
    for i in range(len(rows)):
        label[i] = y[rows[i]]
        for j in range(X.shape[1]):
            x[i, j] = X[rows[i], j]


@compiled
def most(row: Array) -> float:
    """The largest; NaN if there is one."""
    found = row[0]
    for c in range(1, len(row)):
        if not row[c] <= found:
            found = row[c]
    return found


@compiled
def affine(x: Array, layer: Array, relu: bool, out: Array) -> None:
    """[x 1] layer, its negative part cut off for a ReLU; NaN stays."""
    np.dot(x, layer[:-1], out)
    bias = layer[-1]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            z = out[i, j] + bias[j]
            out[i, j] = np.float32(0) if relu and z <= 0 else z


@compiled
def trace(theta: Arrays, h: Arrays, logits: Array) -> None:
    """The input of every layer from h[0], and the logits."""
    last = len(theta) - 1
    for i in range(last):
        affine(h[i], theta[i], True, h[i + 1])
    affine(h[last], theta[last], False, logits)


@compiled
def backward(theta: Arrays, h: Arrays, slopes: Arrays, grads: Arrays, pull: Array) -> None:
    """d loss / d theta from d loss / d logits, the last of the slopes, and d loss / d features.

    pull: the latter [b, m]; without rows the loss depends on the features by the logits alone.
    """
    last = len(theta) - 1
    for i in range(last, -1, -1):
        layer_gradient(h[i], slopes[i], grads[i])
        if i:
            np.dot(slopes[i], theta[i][:-1].T, slopes[i - 1])
            if i == last and len(pull):
                add(1, pull, slopes[i - 1])
            through_relu(slopes[i - 1], h[i])


@compiled
def layer_gradient(h: Array, slope: Array, grad: Array) -> None:
    """d loss / d layer [in + 1, out]: [h 1]^T slope."""
    np.dot(h.T, slope, grad[:-1])
    bias = grad[-1]
    for j in range(slope.shape[1]):
        bias[j] = 0
    for i in range(slope.shape[0]):
        for j in range(slope.shape[1]):
            bias[j] += slope[i, j]


@compiled
def through_relu(slope: Array, output: Array) -> None:
    """d loss / d the input of a ReLU, written over d loss / d its output."""
    for i in range(slope.shape[0]):
        for j in range(slope.shape[1]):
            slope[i, j] = np.float32(0) if output[i, j] <= 0 else slope[i, j]


@compiled
def softmax(logits: Array) -> None:
    """In place, row by row."""
    for i in range(logits.shape[0]):
        top, total = most(logits[i]), np.float32(0)
        for c in range(logits.shape[1]):
            logits[i, c] = np.exp(logits[i, c] - top)
            total += logits[i, c]
        for c in range(logits.shape[1]):
            logits[i, c] /= total


@compiled
def cross_entropy(logits: Array, y: Array, w: Array) -> Number:
    """sum_i w_i CE(logits_i, y_i)."""
    loss = np.float32(0)
    for i in range(logits.shape[0]):
        top, total = most(logits[i]), np.float32(0)
        for c in range(logits.shape[1]):
            total += np.exp(logits[i, c] - top)
        loss += w[i] * (np.log(total) + top - logits[i, y[i]])
    return loss


@compiled
def cross_entropy_slope(logits: Array, y: Array, w: Array) -> None:
    """d cross_entropy / d logits, w (softmax - onehot), written over the logits."""
    softmax(logits)
    for i in range(logits.shape[0]):
        for c in range(logits.shape[1]):
            logits[i, c] *= w[i]
        logits[i, y[i]] -= w[i]


@compiled
def mean_teacher_slope(logits: Array, y: Array, w: Array, target: Array, weight: float) -> None:
    """d (cross_entropy + weight mean (softmax - target)^2) / d logits, written over them."""
    softmax(logits)
    share = np.float32(2 / logits.size)
    for i in range(logits.shape[0]):
        p = logits[i]
        inner = np.float32(0)
        for c in range(len(p)):
            inner += share * (p[c] - target[i, c]) * p[c]
        for c in range(len(p)):
            gap = p[c] * (share * (p[c] - target[i, c]) - inner)
            p[c] = w[i] * p[c] + np.float32(weight) * gap
        p[y[i]] -= w[i]
