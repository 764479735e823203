"""The network h = g(f(x)), S replicas stacked, and its gradient by hand.

Encoder f: h_i = relu([h_{i-1} 1] theta_i), layer by layer. Classifier g: logits = [h 1] theta_last.

A product with few columns takes several times as long as its transpose, which has few rows. So what
is a row of C numbers in the formulas, a logit or its slope, lies in memory as C rows of b.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

Theta = list[Tensor]  # one tensor [S, in + 1, out] per layer; its last row is the bias
FEW = 16  # columns below which a product is computed as its transpose


def record_width(d: int, classes: int) -> int:
    """RECORD's rule for its one hidden layer: int(1.5 (d + C)) units."""
    return int(1.5 * (d + classes))


def layer_sizes(d: int, hidden: Sequence[int], classes: int) -> tuple[int, ...]:
    """(d, hidden..., C); a width of 0 stands for RECORD's rule."""
    return d, *(width or record_width(d, classes) for width in hidden), classes


def affine(x: Tensor, layer: Tensor) -> Tensor:
    """[x 1] layer: [S, n, in] and [S, in + 1, out] to [S, n, out]."""
    return torch.baddbmm(layer[:, -1:], x, layer[:, :-1])


def forward(x: Tensor, theta: Theta) -> tuple[Tensor, Tensor]:
    """(features f(x) [S, n, m], logits h(x) [S, n, C]) under any parameters."""
    inputs, logits = trace(x, theta)
    return inputs[-1], logits.contiguous()  # an argmax over strided classes takes 10x as long


def trace(x: Tensor, theta: Theta) -> tuple[list[Tensor], Tensor]:
    """(the input of every layer, logits): what `backward` needs."""
    inputs = [x]
    for layer in theta[:-1]:
        inputs.append(affine(inputs[-1], layer).relu_())
    last = theta[-1].mT
    return inputs, torch.baddbmm(last[:, :, -1:], last[:, :, :-1], inputs[-1].mT).mT


def backward(
    inputs: list[Tensor], slope: Tensor, theta: Theta, features: Tensor | None = None
) -> list[Tensor]:
    """d loss / d theta from d loss / d logits [S, b, C] (and d loss / d features [S, b, m])."""
    slopes = output_slopes(inputs, slope, theta, features)
    return [layer_gradient(h, s) for h, s in zip(inputs, slopes, strict=True)]


def output_slopes(
    inputs: list[Tensor], slope: Tensor, theta: Theta, features: Tensor | None = None
) -> list[Tensor]:
    """d loss / d every layer's output before its ReLU; the last is `slope`."""
    slopes = [slope]
    for i in reversed(range(1, len(theta))):
        slope = torch.bmm(slope, theta[i][:, :-1].mT)
        if features is not None and i == len(theta) - 1:
            slope = slope.add_(features)
        slope = through_relu(slope, inputs[i])
        slopes.append(slope)
    return slopes[::-1]


def through_relu(slope: Tensor, output: Tensor) -> Tensor:
    """d loss / d the input of a ReLU from d loss / d its output, which it takes the place of."""
    return torch.ops.aten.threshold_backward.grad_input(slope, output, 0, grad_input=slope)


def layer_gradient(h: Tensor, slope: Tensor) -> Tensor:
    """d loss / d layer [S, in + 1, out] from the layer's input and d loss / d its output."""
    few = slope.shape[2] < FEW
    weight = torch.bmm(slope.mT, h).mT if few else torch.bmm(h.mT, slope)
    return torch.cat([weight, slope.sum(1, keepdim=True)], 1)


def gradients(loss: Tensor, theta: Theta) -> tuple[Tensor, ...]:
    """d loss[s] / d theta[s] by autograd: the sum over S only joins independent graphs."""
    return torch.autograd.grad(loss.sum(), theta)


def cross_entropy(logits: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """sum_b w CE(logits, y), one number per replica: [S, b, C], [S, b], [S, b] to [S]."""
    log_p = logits.log_softmax(2)
    return -(log_p.gather(2, y[:, :, None]).squeeze(2) * w).sum(1)


def cross_entropy_slope(logits: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """d cross_entropy / d logits, w (softmax - onehot): [S, b, C]."""
    w = w[:, None]
    # softmax and not exp(log_p): exp's last bit depends on where in memory a number stands.
    return (logits.mT.softmax(1) * w).scatter_add_(1, y[:, None], -w).mT


def mean_teacher_slope(
    logits: Tensor, y: Tensor, w: Tensor, target: Tensor, weight: float
) -> Tensor:
    """d (cross_entropy + weight * mean (softmax - target)^2) / d logits: [S, b, C]."""
    w, p = w[:, None], logits.mT.softmax(1)
    slope = (p * w).scatter_add_(1, y[:, None], -w)
    up = (p - target.mT).mul_(2 / p[0].numel())
    gap = p * up.sub_((up * p).sum(1, keepdim=True))
    return slope.add_(gap, alpha=weight).mT
