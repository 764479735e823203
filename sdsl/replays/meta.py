"""EAML (Liu et al., NeurIPS 2020): meta-train f so that a head led along the drift keeps the past.

min_f CE(D; g') + mean_l MMD(D, P_l; g') + mu ||theta - theta_{t-1}||^2; g' is g after inner SGD on
CE(D) + 0.5 MMD(D, P_l), l = 1..5, no graph kept (first order). Then g adapts to X_t, f frozen.
The official code's gradient penalty is left out: under a piecewise linear head it is constant in f,
so it never changes an update (tests/replays/test_meta.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.algorithms.mmd import MMD, mmd_gradient, pair_weights
from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import number
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, affine, cross_entropy, gradients
from sdsl.core.replica import take
from sdsl.core.training import Sgd

DOMAINS = 5  # pseudo-domains P_l a trajectory


@dataclass
class Meta(Replay):
    iterations: int = number(low=0)
    batch: int = number(low=2)  # rows of D, of a support, of a query set; fewer where there are
    inner_steps: int = number(low=0)  # of the head, for each pseudo-domain
    inner_lr: float = number(low=0)
    inner_mmd: float = number(low=0)
    outer_lr: float = number(low=0)  # times 0.1 and 0.01 after 1/2 and 3/4 of the iterations
    outer_mmd: float = number(low=0)
    adapt_steps: int = number(low=0)  # of the head on X_t, after meta-training
    adapt_lr: float = number(low=0)
    adapt_mmd: float = number(low=0)
    momentum: float = number(low=0, high=1)
    decay: float = number(low=0)  # weight decay
    anchor: float = number(low=0)  # mu

    @property
    def width(self) -> int:
        """Of the padded batches: whole cache lines for every replica, see `aligned`."""
        return aligned(self.batch, 8)

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        before = learner.copy()
        log = self.meta_train(step, learner, before)
        self.adapt(step, learner, before)
        return log

    def meta_train(self, step: Step, learner: Learner, before: Theta) -> dict:
        """Update f by the loss of heads that were led from g_{t-1} along the trajectory."""
        gold, b = step.gold, self.width
        rows, first, count = trajectory(step)
        n = gold.count  # [S]
        held = torch.where(n < 4, n, n // 2).clamp(
            max=self.batch
        )  # rows of D an inner, a held-out batch
        size = (count // 2).clamp(max=self.batch)  # [S, L] rows a support, a query set
        u = step.draws.uniform(3, self.iterations, DOMAINS)  # drawn once for the phase
        turn = (u[:, 0, :, :1] * n[:, None, None]).long()  # where in D the held-out batch starts
        skip = (u[:, 1] * (n - 2 * held + 1).clamp(min=1)[:, None, None]).long()
        start = (u[:, 2] * count[:, None]).long()  # [S, iterations, L]
        held_out = window(turn, n[:, None, None], b)[:, :, 0]  # [S, iterations, b]
        source = window(turn + held[:, None, None] + skip, n[:, None, None], b)  # [.., L, b]
        support = first[:, None, :, None] + window(start, count[:, None], b)
        query = first[:, None, :, None] + window(start + size[:, None], count[:, None], b)
        real, pairs, w = compare(held[:, None].expand_as(size), size, b)
        share = (size > 1) / (size > 1).sum(1, keepdim=True).clamp(min=1)  # [S, L]
        f = learner.theta[:-1]
        optimizer = Sgd(f, self.momentum)
        ce = gap = torch.zeros(len(n))
        for k in range(self.iterations):
            with torch.no_grad():
                y = F.one_hot(take(gold.y, source[:, k]), learner.classes).mT.float()
                x = torch.cat([take(gold.X, source[:, k]), take(rows, support[:, k])], 2)
                phi = features(x.flatten(1, 2), f).unflatten(1, x.shape[1:3])  # [S, L, 2b, M]
                g = class_rows(before[-1])  # [S, C, M]
                for j in range(DOMAINS):
                    part = phi[:, j], y[:, j], w[:, j], real[:, j], pairs[:, j]
                    for _ in range(self.inner_steps):
                        g -= self.inner_lr * head_gradient(g, *part, self.inner_mmd)
            x = torch.cat([take(gold.X, held_out[:, k]), take(rows, query[:, k]).flatten(1, 2)], 1)
            z = torch.bmm(g, features(x, f).mT).unflatten(2, (1 + DOMAINS, b)).transpose(1, 2)
            ce = cross_entropy(z[:, 0].mT, take(gold.y, held_out[:, k]), w[:, 0])
            z = torch.cat([z[:, :1].expand_as(z[:, 1:]), z[:, 1:]], 3)  # [S, L, C, 2b]
            mmd = MMD.apply(z.flatten(0, 1), real.flatten(0, 1), pairs.flatten(0, 1))
            gap = (mmd.view_as(share) * share).sum(1)  # every domain, scored with the final head
            loss = ce + self.outer_mmd * gap
            steps = self.pull(gradients(loss, f), f, before[:-1])
            optimizer.step(steps, self.outer_lr * decayed(k / self.iterations))
        return {"loss_replay": ce.detach(), "mmd": gap.detach()}

    @torch.no_grad()
    def adapt(self, step: Step, learner: Learner, before: Theta) -> None:
        """Meta-test: f frozen, the head goes on from g_{t-1} by CE(D) + 0.2 MMD(D, X_t)."""
        gold, b, n, N = step.gold, self.width, step.gold.count, step.X.shape[1]
        u = step.draws.uniform(2, self.adapt_steps)
        source = window((u[:, 0] * n[:, None]).long(), n[:, None], b)  # [S, steps, b]
        target = window((u[:, 1] * N).long(), torch.tensor(N), b)
        most = torch.full_like(n, self.batch)
        real, pairs, w = compare(torch.minimum(n, most), most.clamp(max=N), b)
        g = class_rows(before[-1])  # [S, C, M]
        anchor = [g.clone()]
        optimizer = Sgd([g], self.momentum)
        for k in range(self.adapt_steps):
            x = torch.cat([take(gold.X, source[:, k]), take(step.X, target[:, k])], 1)
            phi = features(x, learner.theta[:-1])  # [S, 2b, M]
            y = F.one_hot(take(gold.y, source[:, k]), learner.classes).mT.float()
            grad = head_gradient(g, phi, y, w, real, pairs, self.adapt_mmd)
            optimizer.step(self.pull([grad], [g], anchor), self.adapt_lr)
        learner.theta[-1].copy_(g.mT[:, : learner.theta[-1].shape[1]])

    @torch.no_grad()
    def pull(self, grads: Sequence[Tensor], theta: Theta, before: Theta) -> list[Tensor]:
        """The gradients with weight decay and the anchor at theta_{t-1} added."""
        return [
            d + self.decay * p + 2 * self.anchor * (p - q)
            for d, p, q in zip(grads, theta, before, strict=True)
        ]


def trajectory(step: Step) -> tuple[Tensor, Tensor, Tensor]:
    """Unlabelled rows [S, N, d] and where in them each pseudo-domain lies: first, count [S, L].

    In drift order: the rows stored at t-1 in two parts, then X_t in three, all parts at random.
    """
    n, stored = step.X.shape[1], step.lookback.count
    rows = torch.cat([take(step.X, step.draws.permutation(n)), step.lookback.X], 1)
    half, third = stored // 2, torch.full_like(stored, n // 3)
    count = torch.stack([half, stored - half, third, third, n - 2 * third], 1)
    # A part without rows may point anywhere, as long as there is a row.
    first = torch.stack([n + 0 * half, n + half, 0 * third, third, 2 * third], 1)
    return rows, torch.where(count > 0, first, 0), count


def window(start: Tensor, count: Tensor, b: int) -> Tensor:
    """b row numbers from `start` on, the `count` rows of a part standing in a circle: [.., b]."""
    return (start[..., None] + torch.arange(b)) % count[..., None].clamp(min=1)


def compare(source: Tensor, target: Tensor, b: int) -> tuple[Tensor, Tensor, Tensor]:
    """Batches padded to b: real rows [.., 2b], MMD's pairs [.., 2b, 2b], CE's weights [.., b]."""
    x, y = torch.arange(b) < source[..., None], torch.arange(b) < target[..., None]
    pairs = pair_weights(x.view(-1, b), y.view(-1, b)).view(*source.shape, 2 * b, 2 * b)
    return torch.cat([x, y], -1), pairs, x / source[..., None].clamp(min=1)


def aligned(n: int, to: int) -> int:
    """n rounded up. A product's last bits hang on where in memory each replica's matrices begin, so
    rows are filled up to multiples of 64 bytes: then they begin alike, alone or fused."""
    return -(-n // to) * to


def features(x: Tensor, f: Theta) -> Tensor:
    """f(x), a 1 for the head's bias, and zeros up to an aligned width: [S, n, d] to [S, n, M]."""
    for layer in f:
        x = affine(x, layer).relu_()
    return F.pad(F.pad(x, (0, 1), value=1.0), (0, aligned(x.shape[2] + 1, 16) - x.shape[2] - 1))


def class_rows(head: Tensor) -> Tensor:
    """The head as the features want it: [S, m + 1, C] to [S, C, M]."""
    rows = F.pad(head.mT, (0, aligned(head.shape[1], 16) - head.shape[1]))
    return rows.clone(memory_format=torch.contiguous_format)  # it is stepped in place


def head_gradient(
    g: Tensor, phi: Tensor, y: Tensor, w: Tensor, real: Tensor, pairs: Tensor, weight: float
) -> Tensor:
    """d/dg of CE on the first b rows of phi plus weight times MMD of the first and the last b."""
    z = torch.bmm(g, phi.mT)  # [S, C, 2b]
    slope = weight * mmd_gradient(z, real, pairs)
    b = y.shape[2]  # y: [S, C, b], one-hot
    slope[:, :, :b] += (z[:, :, :b].softmax(1) - y) * w[:, None]
    return torch.bmm(slope, phi)


def decayed(p: float) -> float:
    """The official schedule as intended: its code's second condition is garbled by a precedence."""
    return 1.0 if p < 0.5 else 0.1 if p < 0.75 else 0.01
