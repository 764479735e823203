"""The learner: h = g(f(x)), a stacked MLP of S replicas, and its mean-teacher fit (Tarvainen 2017).

L = sum_k w_k mean CE(set k) + w(k) mean ||softmax h(x + e) - softmax h'(x + e')||^2, h' EMA of h.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.component import choice, number
from sdsl.replica import Batches, Draws, Rows

Theta = list[Tensor]  # a layer is one tensor [S, in + 1, out]; its last row is the bias


@dataclass
class Training:
    """How a phase of training runs; batch=0 is full batch."""

    steps: int = number(100, low=0)
    batch: int = number(64, low=0)
    lr: float = number(0.01, low=0)
    momentum: float = number(0.9, low=0, high=1)
    optimizer: str = choice("sgd", "adam")
    consistency: float = number(0.0, low=0)  # weight of the mean-teacher term after ramp-up
    noise: float = number(0.1, low=0)  # sd of the Gaussian input noise of each branch
    ema: float = number(0.99, low=0, high=1)
    decay: bool = False  # the rate falls to 0 in a straight line over the steps
    ramp: bool = True  # the term's weight grows over the first 30% of the steps

    def rate(self, k: int) -> float:
        """The learning rate of step k = 0, 1, ..."""
        return self.lr * (1 - k / self.steps if self.decay else 1)


class Optimizer:
    """SGD with momentum or Adam as plain tensor code: elementwise, so blind to the replica axis."""

    def __init__(self, theta: Theta, how: Training):
        self.theta, self.how, self.k = theta, how, 0
        self.m = [torch.zeros_like(p) for p in theta]
        self.v = [torch.zeros_like(p) for p in theta] if how.optimizer == "adam" else []

    @torch.no_grad()
    def step(self, grads: Sequence[Tensor]) -> None:
        lr = self.how.rate(self.k)
        self.k += 1
        if self.how.optimizer == "sgd":
            torch._foreach_mul_(self.m, self.how.momentum)
            torch._foreach_add_(self.m, grads)
            torch._foreach_add_(self.theta, self.m, alpha=-lr)
            return
        b1, b2 = 0.9, 0.999
        torch._foreach_lerp_(self.m, grads, 1 - b1)
        torch._foreach_mul_(self.v, b2)
        torch._foreach_addcmul_(self.v, grads, grads, value=1 - b2)
        unbias = math.sqrt(1 - b2**self.k)
        # eps under the root, not beside it: MKL's root of a 0 takes ten times as long.
        root = torch._foreach_add(self.v, (1e-8 * unbias) ** 2)
        torch._foreach_sqrt_(root)
        rate = lr * unbias / (1 - b1**self.k)
        torch._foreach_addcdiv_(self.theta, self.m, root, value=-rate)


def forward(x: Tensor, theta: Theta) -> tuple[Tensor, Tensor]:
    """(features f(x) [S, n, m], logits h(x) [S, n, C]) under any parameters."""
    inputs, logits = trace(x, theta)
    return inputs[-1], logits.contiguous()  # an argmax over strided classes takes 10x as long


def cross_entropy(logits: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """sum_b w CE(logits, y), one number a replica: [S, b, C], [S, b], [S, b] to [S]."""
    log_p = logits.log_softmax(2)
    return -(log_p.gather(2, y[:, :, None]).squeeze(2) * w).sum(1)


def gradients(loss: Tensor, theta: Theta) -> tuple[Tensor, ...]:
    """d loss[s] / d theta[s] by autograd: the sum over S only joins independent graphs."""
    return torch.autograd.grad(loss.sum(), theta)


# The inner loops differentiate by hand: three small layers cost autograd half its time in overhead.
# A product with few columns takes several times as long as its transpose, which has few rows: what
# is a row of C numbers in the formulas, a logit or its slope, lies in memory as C rows of b.


def trace(x: Tensor, theta: Theta) -> tuple[list[Tensor], Tensor]:
    """(the input of every layer, logits): what `backward` needs."""
    inputs = [x]
    for layer in theta[:-1]:
        inputs.append(torch.baddbmm(layer[:, -1:], inputs[-1], layer[:, :-1]).relu_())
    last = theta[-1].mT
    return inputs, torch.baddbmm(last[:, :, -1:], last[:, :, :-1], inputs[-1].mT).mT


def backward(inputs: list[Tensor], slope: Tensor, theta: Theta, features=0.0) -> list[Tensor]:
    """d loss / d theta from d loss / d logits [S, b, C] (and d loss / d features [S, b, m])."""
    slopes = output_slopes(inputs, slope, theta, features)
    return [layer_gradient(h, s) for h, s in zip(inputs, slopes, strict=True)]


def output_slopes(inputs: list[Tensor], slope: Tensor, theta: Theta, features=0.0) -> list[Tensor]:
    """d loss / d every layer's output before its ReLU; the last is `slope`."""
    slopes = [slope]
    for i in reversed(range(1, len(theta))):
        slope = torch.bmm(slope, theta[i][:, :-1].mT)
        slope = slope + features if i == len(theta) - 1 else slope
        slope = torch.ops.aten.threshold_backward(slope, inputs[i], 0)  # through the ReLU
        slopes.append(slope)
    return slopes[::-1]


def layer_gradient(h: Tensor, slope: Tensor) -> Tensor:
    """d loss / d layer [S, in + 1, out] from the layer's input and d loss / d its output."""
    few = slope.shape[2] < 16
    weight = torch.bmm(slope.mT, h).mT if few else torch.bmm(h.mT, slope)
    return torch.cat([weight, slope.sum(1, keepdim=True)], 1)


def cross_entropy_slope(logits: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """d cross_entropy / d logits, w (softmax - onehot): [S, b, C]."""
    w = w[:, None]
    # softmax and not exp(log_p): exp's last bit depends on where in memory a number stands.
    return (logits.mT.softmax(1) * w).scatter_add_(1, y[:, None], -w).mT


def consistency_slope(logits: Tensor, target: Tensor) -> Tensor:
    """d mean (softmax - target)^2 / d logits: [S, b, C]."""
    p = logits.mT.softmax(1)
    up = (p - target.mT) * (2 / p[0].numel())
    return (p * (up - (up * p).sum(1, keepdim=True))).mT


class Learner:
    """S networks with parameters theta and their mean teacher."""

    def __init__(self, sizes: Sequence[int], seeds: Sequence[int]):
        """sizes: (d, hidden..., C); the hidden layers are the encoder f, the last layer is g."""
        self.sizes = tuple(sizes)
        self.init = Draws(seeds, "init")
        # Installed by a method whose classifier is no network (1-NN): x [S, n, d] to labels [S, n].
        self.classifier: Callable[[Tensor], Tensor] | None = None
        self.reset()

    @property
    def classes(self) -> int:
        return self.sizes[-1]

    def reset(self) -> None:
        """Fresh random networks, drawn on from each replica's own initialisation generator."""
        self.theta = []
        for fan_in, fan_out in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            bound = 1 / math.sqrt(fan_in)
            layer = (2 * self.init.uniform(fan_in + 1, fan_out) - 1) * bound
            self.theta.append(layer.requires_grad_())
        self.teacher = self.copy()

    def copy(self) -> Theta:
        return [p.detach().clone() for p in self.theta]

    @torch.no_grad()
    def load(self, theta: Theta) -> None:
        torch._foreach_copy_(self.theta, theta)

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        return forward(x, self.theta)[0]

    @torch.no_grad()
    def probabilities(self, x: Tensor) -> Tensor:
        return forward(x, self.theta)[1].softmax(2)

    @torch.no_grad()
    def predict(self, x: Tensor) -> Tensor:
        if self.classifier is not None:
            return self.classifier(x)
        return forward(x, self.theta)[1].argmax(2)

    @torch.no_grad()
    def fit(
        self,
        how: Training,
        sets: Sequence[Rows],
        draws: Draws,
        weights: Sequence[float] | None = None,
        unlabelled: Tensor | None = None,
    ) -> Tensor:
        """Train on labelled sets, each weighted on its own; returns the last cross-entropy [S].

        unlabelled rows take part in the consistency term only.
        """
        if not how.steps:
            return torch.zeros(len(self.theta[0]))
        weights = [1.0] * len(sets) if weights is None else list(weights)
        if how.consistency and unlabelled is not None:
            y = torch.zeros(unlabelled.shape[:2], dtype=torch.long)
            sets, weights = [*sets, Rows.full(unlabelled, y)], [*weights, 0.0]
        batches = Batches(sets, weights, how.steps, how.batch, draws)
        if not (how.batch or how.consistency) and how.optimizer == "sgd":
            return self._fit_whole(how, batches.X, batches.y, batches.w)
        optimizer = Optimizer(self.theta, how)
        for k, (x, y, w) in enumerate(batches):
            if how.consistency:
                inputs, logits, slope = self._mean_teacher(x, y, w, how, k, draws)
            else:
                inputs, logits = trace(x, self.theta)
                slope = cross_entropy_slope(logits, y, w)
            optimizer.step(backward(inputs, slope, self.theta))
            if how.consistency:
                torch._foreach_lerp_(self.teacher, self.theta, 1 - min(1 - 1 / (k + 1), how.ema))
        return cross_entropy(logits, y, w)

    def _fit_whole(self, how: Training, x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        """Full-batch SGD, small networks (RECORD's) at less than half the cost.

        Every step sees the same rows, so the inputs [h 1] are laid out once, the 1 for the bias,
        and a layer's momentum takes its gradient in one product: m <- momentum m + [h 1]^T slope.
        Few rows of many features (RECORD on Spam) move the first layer W within their span alone:
        W = W_0 + [x 1]^T a, and a takes steps along `slope` itself, which saves that product.
        """
        seen, theta = F.pad(x, (0, 1), value=1.0), list(self.theta)
        few = len(theta) > 1 and seen.shape[1] < seen.shape[2]
        if few:
            start, gram = torch.bmm(seen, theta[0]), torch.bmm(seen, seen.mT)
            theta[0] = torch.zeros_like(start)
        inputs = [
            gram if few else seen,
            *(x.new_ones(*y.shape, p.shape[2] + 1) for p in theta[:-1]),
        ]
        free = [*theta[:-1], theta[-1].mT]  # classes lie in rows here: [S, C, b]
        m = [torch.zeros(p.shape) for p in free]
        w_class = w[:, None]
        target = w.new_zeros(len(w), self.classes, w.shape[1]).scatter_(1, y[:, None], w_class)
        for k in range(how.steps):
            for i, layer in enumerate(theta[:-1]):
                h = torch.bmm(inputs[i], layer)
                h = h.add_(start) if few and i == 0 else h
                torch.clamp(h, min=0, out=inputs[i + 1][:, :, :-1])
            logits = torch.bmm(theta[-1].mT, inputs[-1].mT)
            slope = (logits.softmax(1) * w_class).sub_(target)
            m[-1].baddbmm_(slope, inputs[-1], beta=how.momentum)
            slope = slope.mT
            for i in reversed(range(len(theta) - 1)):
                slope = torch.bmm(slope, theta[i + 1][:, :-1].mT)
                slope = torch.ops.aten.threshold_backward(slope, inputs[i + 1][:, :, :-1], 0)
                if few and i == 0:
                    m[i].mul_(how.momentum).add_(slope)
                else:
                    m[i].baddbmm_(inputs[i].mT, slope, beta=how.momentum)
            torch._foreach_add_(free, m, alpha=-how.rate(k))
        if few:
            self.theta[0].baddbmm_(seen.mT, theta[0])
        return cross_entropy(logits.mT, y, w)

    def _mean_teacher(self, x, y, w, how: Training, k: int, draws: Draws):
        """(inputs of every layer, logits, d (CE + w(k) gap) / d logits)."""
        ramp = math.exp(-5 * (1 - min(1.0, (k + 1) / (0.3 * how.steps))) ** 2) if how.ramp else 1.0
        student, teacher = x, x
        if how.noise:
            noise = draws.normal(2, *x.shape[1:])  # [S, 2, b, d]
            student, teacher = torch.add(x[:, None], noise, alpha=how.noise).unbind(1)
        inputs, logits = trace(student, self.theta)
        target = trace(teacher, self.teacher)[1].mT.softmax(1).mT
        slope = cross_entropy_slope(logits, y, w)
        gap = consistency_slope(logits, target)
        return inputs, logits, slope.add_(gap, alpha=how.consistency * ramp)
