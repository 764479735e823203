"""The matrix products of torch and of the compiled loops: which they are, and one of them alone."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sdsl.algorithms.flat_search import How, Space
from sdsl.core.compiled import compiled
from sdsl.core.kernel import Array, Arrays


@dataclass(frozen=True)
class Product:
    """Sizes and strides of its factors, and whose it is."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    strides: tuple[tuple[int, ...], tuple[int, ...]] | None = None  # torch's; in numbers
    turned: str = ""  # of a compiled loop: which factor is read as its transpose

    def repeated(self) -> Callable[[int], None]:
        """A function that multiplies so many times, into a place of its own."""
        if self.strides is None:
            return self._compiled()
        pairs = zip((self.left, self.right), self.strides, strict=True)
        a, b = (torch.empty_strided(*one).fill_(0.5) for one in pairs)
        out = torch.bmm(a, b)

        def again(times: int) -> None:
            for _ in range(times):
                torch.bmm(a, b, out=out)

        return again

    def _compiled(self) -> Callable[[int], None]:
        (n, k), (_, m) = self.left, self.right
        a = np.full((k, n), 0.5, np.float32).T if self.turned == "left" else ones(n, k)
        b = np.full((m, k), 0.5, np.float32).T if self.turned == "right" else ones(k, m)
        out = np.empty((n, m), np.float32)
        return lambda times: multiply(a, b, out, times)


Products = Counter[Product]


def ones(n: int, m: int) -> Array:
    return np.full((n, m), 0.5, np.float32)


@compiled
def multiply(a: Array, b: Array, out: Array, times: int) -> None:
    for _ in range(times):
        np.dot(a, b, out)


def of_torch(a: torch.Tensor, b: torch.Tensor) -> Product:
    """[S, n, k] and [S, k, m], or without S."""
    a, b = (x if x.dim() == 3 else x[None] for x in (a, b))
    return Product(tuple(a.shape), tuple(b.shape), (a.stride(), b.stride()))


def forward(theta: Arrays, b: int) -> Products:
    """h theta, layer by layer."""
    sizes = [(len(layer) - 1, layer.shape[1]) for layer in theta]
    return Counter(Product((b, n), (n, m)) for n, m in sizes)


def gradient(theta: Arrays, b: int) -> Products:
    """h^T slope of every layer, and slope theta^T of all but the first."""
    found: Products = Counter()
    for i, layer in enumerate(theta):
        n, m = len(layer) - 1, layer.shape[1]
        found[Product((n, b), (b, m), turned="left")] += 1
        if i:
            found[Product((b, m), (m, n), turned="right")] += 1
    return found


def projection(space: Space) -> Products:
    """V g and V^T (V g)."""
    found: Products = Counter()
    for V, g in zip(space.V, space.image, strict=True):
        (r, w), m = V.shape, g.shape[1]
        found[Product((r, w), (w, m))] += 1
        found[Product((w, r), (r, m), turned="left")] += 1
    return found


def times(products: Products, n: int) -> Products:
    return Counter({one: n * count for one, count in products.items()})


def of_fit(theta: Arrays, *rest: Any) -> Products:
    """core/descent.fit: every step an update, with the teacher's outputs where it has a say."""
    _, _, _, _, (_, _, w), _, _, _, rates, weights, *_ = rest
    update = forward(theta, len(w)) + gradient(theta, len(w))
    followed = times(forward(theta, len(w)), int((weights > 0).sum()))
    return times(update, len(rates)) + followed


def of_feedback(theta: Arrays, *rest: Any) -> Products:
    """algorithms/feedback.descend."""
    w, rates = rest[6], rest[9]
    return times(forward(theta, len(w)) + gradient(theta, len(w)), len(rates))


def of_search(theta: Arrays, how: How, space: Space, *rest: Any) -> Products:
    """algorithms/flat_search.search: a gradient for every ascent and one for the descent."""
    _, (_, _, w), index = rest
    one = forward(theta, len(w)) + gradient(theta, len(w))
    if not how.no_proj:
        one += projection(space)
    return times(one, len(index) * (1 + (0 if how.no_xi else how.ascents)))


LOOPS: dict[str, Callable[..., Products]] = {  # as their callers name them
    "sdsl.core.learner.fit": of_fit,
    "sdsl.algorithms.feedback.descend": of_feedback,
    "sdsl.replays.flat_region.search": of_search,
    "sdsl.core.kernel.forward": lambda theta, X, *_: forward(theta, len(X)),
    "sdsl.core.kernel.trace": lambda theta, h, *_: forward(theta, len(h[0])),
    "sdsl.core.kernel.backward": lambda theta, h, *_: gradient(theta, len(h[0])),
}
