"""EAML (Liu et al., NeurIPS 2020): meta-train f so that a head led along the drift keeps the past.

min_f CE(D; g') + mean_l MMD(D, P_l; g') + mu ||theta - theta_{t-1}||^2; g' is g after inner SGD on
CE(D) + 0.5 MMD(D, P_l), l = 1..5, no graph kept (first order). Then g adapts to X_t, f frozen.
The official code's gradient penalty is left out: under a piecewise linear head it is constant in f,
so it never changes an update (tests/replays/test_meta.py).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sdsl.algorithms.meta_descent import How, Parts, Starts, adapt_head, meta_descend
from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import number
from sdsl.core.kernel import buffers, zeros
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, arrays
from sdsl.core.replica import take

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
    def how(self) -> How:
        """The settings as the compiled descent takes them."""
        inner = self.inner_steps, self.inner_lr, self.inner_mmd
        return How(*inner, self.outer_mmd, self.adapt_mmd, self.momentum, self.decay, self.anchor)

    @torch.no_grad()
    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        before = learner.copy()
        log = self.meta_train(step, learner, before)
        self.adapt(step, learner, before)
        return log

    def meta_train(self, step: Step, learner: Learner, before: Theta) -> dict:
        """Update f by the loss of heads that were led from g_{t-1} along the trajectory."""
        rows, first, count = trajectory(step)
        n = step.gold.count  # [S]
        # Rows of D an inner, a held-out batch.
        held = torch.where(n < 4, n, n // 2).clamp(max=self.batch)
        size = (count // 2).clamp(max=self.batch)  # [S, L] rows a support, a query set
        u = step.draws.uniform(3, self.iterations, DOMAINS)  # drawn once for the phase
        turn = (u[:, 0, :, :1] * n[:, None, None]).long()  # where in D the held-out batch starts
        skip = (u[:, 1] * (n - 2 * held + 1).clamp(min=1)[:, None, None]).long()
        start = (u[:, 2] * count[:, None]).long()  # [S, iterations, L]
        steps = range(self.iterations)
        rates = np.array([self.outer_lr * decayed(k / self.iterations) for k in steps])
        found = []
        for s, b in enumerate(held.tolist()):
            old = arrays(before, s)
            net = (*arrays(learner.theta[:-1], s), old[-1].copy())
            parts, starts = (
                Parts(*arrays([first, count, size], s)),
                Starts(*arrays([turn, skip, start], s)),
            )
            queries = int(size[s].sum())
            at = buffers(net, DOMAINS * b + queries).h, buffers(net, b + queries)
            gold = tuple(part.numpy() for part in step.gold.replica(s))
            data = gold, *arrays([rows], s), b, parts, starts
            found.append(meta_descend(net, old, zeros(net), *at, *data, rates, self.how))
        ce, gap = torch.tensor(found).T
        return {"loss_replay": ce, "mmd": gap}

    def adapt(self, step: Step, learner: Learner, before: Theta) -> None:
        """Meta-test: f frozen, the head goes on from g_{t-1} by CE(D) + 0.2 MMD(D, X_t)."""
        n, N = step.gold.count, step.X.shape[1]
        u = step.draws.uniform(2, self.adapt_steps)
        starts = (u * torch.stack([n, torch.full_like(n, N)], 1)[:, :, None]).long()
        source, target = learner.features(step.gold.X), learner.features(step.X)
        for s, rows in enumerate(n.tolist()):
            head, old = arrays([learner.theta[-1]], s), arrays([before[-1]], s)
            D, y, X = arrays([source, step.gold.y, target], s)
            sizes = min(rows, self.batch), min(N, self.batch)
            data = D[:rows], y[:rows], X, sizes, *arrays([starts], s)
            adapt_head(head, old, zeros(head), *data, self.adapt_lr, self.how)


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


def decayed(p: float) -> float:
    """The official schedule as intended: its code's second condition is garbled by a precedence."""
    return 1.0 if p < 0.5 else 0.1 if p < 0.75 else 0.01
