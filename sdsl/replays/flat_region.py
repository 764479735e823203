"""Flat-region replay (paper Eqs. 9-11, Algorithm 2): a min-max search projected on and off M.

xi <- xi + eta1 P_M grad L(theta + xi);  theta <- theta - eta2 (I - P_M) grad L(theta + xi),
M spanned, layer by layer, by what the previous model's layers see of gold and lookback. xi starts
from 0 at every step of descent. Algorithm 2 as printed carries it on, and nothing bounds it there.

With `held` what drift has made untrue is let go. c = trust in gold and in the lookback: each set's
loss weighs c of its own, its rows count c in M, and max(c) P_M stands for P_M (more of it where
inputs are large, see algorithms/subspace): where neither holds any longer, replay is plain descent
on the new labels. It starts from a network that has gone 1 - max(c) of the classes' common way:
left behind, its units die or swell as rows travel off.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.algorithms.rehearsal import Rehearsal
from sdsl.algorithms.semantics import class_means
from sdsl.algorithms.subspace import energy_projector
from sdsl.algorithms.trust import Trust
from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import choice, number, setting
from sdsl.core.learner import Learner
from sdsl.core.network import (
    FEW,
    Theta,
    affine,
    backward,
    cross_entropy,
    cross_entropy_slope,
    trace,
)
from sdsl.core.replica import Batch, Batches, Draws, Rows

SAMPLES = 256  # of memory at each step


@dataclass
class FlatRegion(Replay):
    steps: int = number(low=0)
    batch: int = number(low=1)
    eta1: float = number(low=0)  # the paper's ascent step
    eta2: float = number(low=0)  # the paper's descent step
    momentum: float = number(low=0, high=1)  # after projection, so its state stays off M
    ascents: int = number(low=1)
    energy: float = number(low=0, high=1)  # of the representations that M keeps
    cap: float = number(low=0, high=1)  # M takes at most this share of a layer's inputs
    rows: int = number(low=1)  # gold rows M is built from, besides the lookback
    origin: str = choice("previous", "generation")  # whose parameters replay starts from
    no_xi: bool = setting()
    no_proj: bool = setting()
    xi: str = choice("fresh", "carried")  # carried: from one step of descent to the next
    xi_norm: str = choice("none", "sam")  # sam: xi rescaled to length rho
    rho: float = number(low=0)
    trust: Trust = setting()  # how gold's weight falls
    held: Trust = setting()  # how the lookback's falls, and with both of them M
    gold: float = number(low=0)  # the weight of each set's mean loss
    lookback: float = number(low=0)
    segment: float = number(low=0)
    memory: float = number(low=0)  # of samples of the past; 0: no memory is kept
    memory_rows: float = number(low=0)  # memory's size, in rows with labels

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        if self.memory:
            self.rehearsal = Rehearsal(gold, learner.classes, self.memory_rows)

    @torch.no_grad()
    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        kept, back = (
            self.held.beside(pseudo.rows, rows, step, learner.classes)
            for rows in (step.gold, step.lookback)
        )
        kept = kept * self.trust(step, learner.classes)
        P, rank = self.projectors(step, (kept, back) if self.lets_go else None)
        if self.origin == "previous":
            learner.load(step.theta)
        if self.lets_go and step.lookback.X.shape[1]:
            way = common_way(step.lookback, pseudo.rows, learner.classes)
            carry(learner.theta, (1 - torch.maximum(kept, back))[:, None, None] * way)
        sets = [step.gold, step.lookback, pseudo.rows]
        weights: list[float | Tensor] = [self.gold * kept, self.lookback * back, self.segment]
        if self.memory:
            sets.append(self.rehearsal.samples(SAMPLES, step.draws))
            weights.append(self.memory)
        velocity = [torch.zeros_like(p) for p in learner.theta]
        loss = rise = torch.zeros(len(step.X))
        xi: Theta | None = None
        for k, batch in enumerate(Batches(sets, weights, self.steps, self.batch, step.draws)):
            point = learner.theta if self.no_xi else self.ascend(learner.theta, P, batch, xi)
            if self.xi == "carried":
                xi = list(torch._foreach_sub(point, learner.theta))
            if k == self.steps - 1:
                loss = loss_at(point, batch)
                rise = loss - loss_at(learner.theta, batch)
            G = slopes(point, batch)
            if not self.no_proj:
                G = [add_projected(g, p, g, -1) for g, p in zip(G, P, strict=True)]
            torch._foreach_mul_(velocity, self.momentum)
            torch._foreach_add_(velocity, G)
            torch._foreach_add_(learner.theta, velocity, alpha=-self.eta2)
        ranks = {f"rank_{layer}": r for layer, r in enumerate(rank)}
        log = {"loss_replay": loss, "loss_rise": rise, "gold_trust": kept} | ranks
        log["lookback_trust"] = back
        if self.memory:
            now = [self.rehearsal.fit(pseudo.rows, s) for s in range(len(step.X))]
            self.rehearsal.remember(step.gold, pseudo.rows, now, step.t)
            log["memory_numbers"] = self.rehearsal.past.numbers
        return log

    def ascend(self, theta: Theta, P: list[Tensor], batch: Batch, xi: Theta | None = None) -> Theta:
        """theta + xi: the worst case nearby, within M. The search starts at xi, or at 0."""
        point = theta if xi is None else list(torch._foreach_add(theta, xi))
        for _ in range(self.ascents):
            G = slopes(point, batch)
            if self.no_proj:
                point = list(torch._foreach_add(point, G, alpha=self.eta1))
            else:
                layers = zip(point, P, G, strict=True)
                point = [add_projected(q, p, g, self.eta1) for q, p, g in layers]
        if self.xi_norm == "sam":
            away = torch._foreach_sub(point, theta)
            length = torch.stack([e.square().sum((1, 2)) for e in away]).sum(0).sqrt()
            scale = (self.rho / length.clamp(min=1e-12)).view(-1, 1, 1)
            point = [p + e * scale for p, e in zip(theta, away, strict=True)]
        return point

    @property
    def lets_go(self) -> bool:
        """Whether M is held only as far as what spans it is trusted."""
        return bool(self.held.overlap or self.held.agreement)

    def projectors(
        self, step: Step, trust: tuple[Tensor, Tensor] | None = None
    ) -> tuple[list[Tensor], list[Tensor]]:
        """P_M of every layer [S, in + 1, in + 1] and its rank [S], under the last parameters.

        trust: [S] in gold and in the lookback; without it M is held whole.
        """
        gold = Rows(
            step.gold.X[:, : self.rows],
            step.gold.y[:, : self.rows],
            step.gold.count.clamp(max=self.rows),
        )
        h = torch.cat([gold.X, step.lookback.X], 1)
        real = torch.cat([gold.mask, step.lookback.mask], 1)[:, :, None].float()
        most = n = None
        if trust is not None:
            most = torch.maximum(*trust)
            share = [(c / most.clamp(min=1e-30)).sqrt()[:, None] for c in trust]  # [S, 1] each
            sets = zip(share, (gold, step.lookback), strict=True)
            real = real * torch.cat([c.expand(-1, r.X.shape[1]) for c, r in sets], 1)[:, :, None]
            n = real.square().sum(1, keepdim=True).clamp(min=1e-9)
        grams = []
        for layer in step.theta:
            seen = F.pad(h, (0, 1), value=1.0) * real  # [S, n, in + 1], bias included
            gram = seen.transpose(1, 2) @ seen
            grams.append(gram if n is None else gram / n)
            h = affine(h, layer).relu()
        return span(grams, self.energy, self.cap, most)


def common_way(old: Rows, new: Rows, classes: int) -> Tensor:
    """[S, 1, d]: how far class means went from old to new, the mean over classes in both."""
    before, n = class_means(old.X, old.y, classes, old.mask)
    after, m = class_means(new.X, new.y, classes, new.mask)
    both = (n > 0) & (m > 0)  # [S, C, 1]
    return ((after - before) * both).sum(1, keepdim=True) / both.sum(1, keepdim=True).clamp(min=1)


@torch.no_grad()
def carry(theta: Theta, way: Tensor) -> None:
    """From h(x) to h(x - way), in place; way: [S, 1, d]."""
    theta[0][:, -1:] -= way @ theta[0][:, :-1]


def add_projected(base: Tensor, P: Tensor, g: Tensor, alpha: float) -> Tensor:
    """base + alpha P g, all [S, in + 1, out]; P is symmetric, so few columns can go as few rows."""
    if g.shape[2] < FEW:
        return torch.baddbmm(base.mT, g.mT, P, alpha=alpha).mT
    return torch.baddbmm(base, P, g, alpha=alpha)


def slopes(theta: Theta, batch: Batch) -> list[Tensor]:
    """The gradient of the weighted cross-entropy of a batch at any parameters."""
    x, y, w = batch
    inputs, logits = trace(x, theta)
    return backward(inputs, cross_entropy_slope(logits, y, w), theta)


def loss_at(theta: Theta, batch: Batch) -> Tensor:
    """That cross-entropy: [S]."""
    x, y, w = batch
    return cross_entropy(trace(x, theta)[1], y, w)


def span(
    grams: list[Tensor], energy: float, cap: float, held: Tensor | None = None
) -> tuple[list[Tensor], list[Tensor]]:
    """Projectors on the span of each layer's inputs, at most `cap` of its width, and their ranks.

    held: how far, [S]. Layers of one width are decomposed in one batched call.
    """
    P: dict[int, Tensor] = {}
    rank: dict[int, Tensor] = {}
    S = len(grams[0])
    for width in {g.shape[1] for g in grams}:
        layers = [i for i, g in enumerate(grams) if g.shape[1] == width]
        together = torch.cat([grams[i] for i in layers])
        part = None if held is None else held.repeat(len(layers))
        projectors, ranks = energy_projector(together, energy, int(cap * width), part)
        for i, p, r in zip(layers, projectors.split(S), ranks.split(S), strict=True):
            P[i], rank[i] = p, r
    order = range(len(grams))
    return [P[i] for i in order], [rank[i] for i in order]
