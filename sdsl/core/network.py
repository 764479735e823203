"""The network h = g(f(x)): a tensor [in + 1, out] per layer, the bias in its last row.

Encoder f: h_i = relu([h_{i-1} 1] theta_i), layer by layer. Classifier g: logits = [h 1] theta_last.
`trace` and `backward` are the compiled loops of core/kernel; `graph` is the same in torch, for a
loss that autograd differentiates.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from sdsl.core import kernel
from sdsl.core.kernel import NO_PULL, Arrays

Theta = list[Tensor]  # [in + 1, out] per layer
CHUNK = 128  # rows at a time through the layers, so that they stay in cache


def layer_sizes(d: int, hidden: Sequence[int], classes: int) -> tuple[int, ...]:
    """(d, hidden..., C); a width of 0 stands for RECORD's rule, int(1.5 (d + C)) units."""
    return d, *(width or int(1.5 * (d + classes)) for width in hidden), classes


def wrong_shapes(theta: Sequence[Tensor], sizes: Sequence[int]) -> str:
    """How parameters differ in shape or type from those of a network; '' if they do not."""
    expected = [(a + 1, b) for a, b in pairwise(sizes)]
    if [p.shape for p in theta] == expected and {p.dtype for p in theta} == {torch.float32}:
        return ""
    shapes = ", ".join(f"{p.dtype} {[*p.shape]}" for p in theta)
    return f"parameters {shapes}, where a network {(*sizes,)} has others"


def arrays(tensors: Sequence[Tensor]) -> Arrays:
    """NumPy views for compiled loops: what the loops write is written to the tensors."""
    return tuple(p.detach().numpy() for p in tensors)


def forward(x: Tensor, theta: Theta) -> tuple[Tensor, Tensor]:
    """(features f(x) [n, m], logits h(x) [n, C]) under any parameters, without a graph."""
    inputs, logits = zip(*(trace(part, theta) for part in x.split(CHUNK)), strict=True)
    return torch.cat([h[-1] for h in inputs]), torch.cat(logits)


def scores(x: Tensor, theta: Theta) -> Tensor:
    """The logits [n, C] alone."""
    return torch.cat([trace(part, theta)[1] for part in x.split(CHUNK)])


def trace(x: Tensor, theta: Theta) -> tuple[list[Tensor], Tensor]:
    """(the input of every layer, logits), as `backward` takes them."""
    inputs = [x.contiguous()] + [x.new_empty(len(x), p.shape[1]) for p in theta[:-1]]
    logits = x.new_empty(len(x), theta[-1].shape[1])
    kernel.trace(arrays(theta), arrays(inputs), logits.numpy())
    return inputs, logits


def backward(
    inputs: list[Tensor], slope: Tensor, theta: Theta, features: Tensor | None = None
) -> list[Tensor]:
    """d loss / d theta from d loss / d logits [b, C] (and d loss / d features [b, m])."""
    slopes = [h.new_empty(h.shape) for h in inputs[1:]] + [slope.contiguous()]
    grads = [p.new_empty(p.shape) for p in theta]
    pull = NO_PULL if features is None else features.contiguous().numpy()
    kernel.backward(arrays(theta), arrays(inputs), arrays(slopes), arrays(grads), pull)
    return grads


def affine(x: Tensor, layer: Tensor) -> Tensor:
    """[x 1] layer: [..., in] and [in + 1, out] to [..., out]."""
    return x @ layer[:-1] + layer[-1]


def graph(x: Tensor, theta: Theta) -> Tensor:
    """Logits [n, C] that autograd can differentiate."""
    for layer in theta[:-1]:
        x = affine(x, layer).relu()
    return affine(x, theta[-1])
