"""The network h = g(f(x)), S replicas stacked: a tensor [S, in + 1, out] per layer, the bias last.

Encoder f: h_i = relu([h_{i-1} 1] theta_i), layer by layer. Classifier g: logits = [h 1] theta_last.
`forward`, `trace` and `backward` are the compiled loops of core/kernel, replica by replica. Whoever
differentiates a loss of his own uses `graph`, which is the same in torch, and `gradients`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from sdsl.core import kernel
from sdsl.core.kernel import NO_PULL, Arrays

Theta = list[Tensor]  # one tensor [S, in + 1, out] per layer; its last row is the bias
CHUNK = 128  # rows at a time through `forward`, so that they stay in cache


def record_width(d: int, classes: int) -> int:
    """RECORD's rule for its one hidden layer: int(1.5 (d + C)) units."""
    return int(1.5 * (d + classes))


def layer_sizes(d: int, hidden: Sequence[int], classes: int) -> tuple[int, ...]:
    """(d, hidden..., C); a width of 0 stands for RECORD's rule."""
    return d, *(width or record_width(d, classes) for width in hidden), classes


def arrays(tensors: Sequence[Tensor], s: int) -> Arrays:
    """Replica s of each, for compiled loops: no copies, so what these write is heard."""
    return tuple(p.detach()[s].numpy() for p in tensors)


def forward(x: Tensor, theta: Theta) -> tuple[Tensor, Tensor]:
    """(features f(x) [S, n, m], logits h(x) [S, n, C]) under any parameters, without a graph."""
    features = x.new_empty(*x.shape[:2], theta[-1].shape[1] - 1)
    return features, scores(x, theta, features)


def scores(x: Tensor, theta: Theta, features: Tensor | None = None) -> Tensor:
    """The logits alone; writes the features where there is room for them."""
    x, theta = x.contiguous(), [p.contiguous() for p in theta]
    if features is None:
        features = x.new_empty(len(x), 0, theta[-1].shape[1] - 1)
    logits = x.new_empty(*x.shape[:2], theta[-1].shape[2])
    h = kernel.buffers(arrays(theta, 0), CHUNK).h
    for s in range(len(x)):
        kernel.forward(arrays(theta, s), *arrays([x], s), h, *arrays([features, logits], s))
    return logits


def trace(x: Tensor, theta: Theta) -> tuple[list[Tensor], Tensor]:
    """(the input of every layer, logits): what `backward` needs."""
    inputs = [x.contiguous()] + [x.new_empty(*x.shape[:2], p.shape[2]) for p in theta[:-1]]
    logits = x.new_empty(*x.shape[:2], theta[-1].shape[2])
    for s in range(len(x)):
        kernel.trace(arrays(theta, s), arrays(inputs, s), *arrays([logits], s))
    return inputs, logits


def backward(
    inputs: list[Tensor], slope: Tensor, theta: Theta, features: Tensor | None = None
) -> list[Tensor]:
    """d loss / d theta from d loss / d logits [S, b, C] (and d loss / d features [S, b, m])."""
    slopes = [torch.empty_like(h) for h in inputs[1:]] + [slope.contiguous()]
    pull = None if features is None else features.contiguous()
    grads = [torch.empty_like(p) for p in theta]
    for s in range(len(slope)):
        parts = (arrays(part, s) for part in (theta, inputs, slopes, grads))
        kernel.backward(*parts, NO_PULL if pull is None else arrays([pull], s)[0])
    return grads


def affine(x: Tensor, layer: Tensor) -> Tensor:
    """[x 1] layer: [S, n, in] and [S, in + 1, out] to [S, n, out]."""
    return torch.baddbmm(layer[:, -1:], x, layer[:, :-1])


def graph(x: Tensor, theta: Theta) -> Tensor:
    """Logits [S, n, C] that can be differentiated."""
    for layer in theta[:-1]:
        x = affine(x, layer).relu_()
    return affine(x, theta[-1])


def gradients(loss: Tensor, theta: Theta) -> tuple[Tensor, ...]:
    """d loss[s] / d theta[s] by autograd: the sum over S only joins independent graphs."""
    return torch.autograd.grad(loss.sum(), theta)


def cross_entropy(logits: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """sum_b w CE(logits, y), one number per replica: [S, b, C], [S, b], [S, b] to [S]."""
    log_p = logits.log_softmax(2)
    return -(log_p.gather(2, y[:, :, None]).squeeze(2) * w).sum(1)


def cross_entropy_slope(logits: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """d cross_entropy / d logits, w (softmax - onehot): [S, b, C]."""
    # softmax and not exp(log_p): exp's last bit depends on where in memory a number stands.
    return (logits.softmax(2) * w[:, :, None]).scatter_add_(2, y[:, :, None], -w[:, :, None])
