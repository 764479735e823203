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

from sdsl.algorithms.flat_search import How, search, space_of
from sdsl.algorithms.rehearsal import Rehearsal
from sdsl.algorithms.semantics import class_means
from sdsl.algorithms.subspace import held_part, leading
from sdsl.algorithms.trust import Trust
from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import choice, number, setting
from sdsl.core.kernel import buffers
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, affine, arrays
from sdsl.core.replica import Batches, Draws, Rows

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
        M, rank = self.subspace(step, (kept, back) if self.lets_go else None)
        if self.origin == "previous":
            learner.load(step.theta)
        if self.lets_go and step.lookback.X.shape[1]:
            way = common_way(step.lookback, pseudo.rows, learner.classes)
            carry(learner.theta, (1 - torch.maximum(kept, back))[:, None, None] * way)
        sets = [step.gold, step.lookback, pseudo.rows]
        weights: list[float | Tensor] = [self.gold * kept, self.lookback * back, self.segment]
        if self.memory:
            sets.append(self.rehearsal.samples(SAMPLES, pseudo.rows, step.draws))
            weights.append(self.memory)
        batches = Batches(sets, weights, self.steps, self.batch, step.draws)
        loss, rise = self.search(learner.theta, M, batches)
        ranks = {f"rank_{layer}": r for layer, r in enumerate(rank)}
        log = {"loss_replay": loss, "loss_rise": rise, "gold_trust": kept} | ranks
        log["lookback_trust"] = back
        if self.memory:
            now = [self.rehearsal.fit(pseudo.rows, s) for s in range(len(step.X))]
            self.rehearsal.remember(step.gold, pseudo.rows, now, step.t)
            log["memory_numbers"] = self.rehearsal.past.numbers
        return log

    def search(
        self, theta: Theta, M: list[list[Tensor]], batches: Batches
    ) -> tuple[Tensor, Tensor]:
        """From theta on, in place; (the last loss, what of it is xi's), [S] each."""
        found = []
        for s, bases in enumerate(M):
            one = arrays(theta, s)
            space = space_of(tuple(v.numpy() for v in bases), one)
            index, *rows = arrays([batches.index, batches.X, batches.y, batches.w], s)
            at = buffers(one, batches.shape[0])
            found.append(search(one, self.how, space, at, tuple(rows), index))
        loss, rise = torch.tensor(found).T
        return loss, rise

    @property
    def how(self) -> How:
        """The settings as the compiled search takes them."""
        rho = self.rho if self.xi_norm == "sam" else 0.0
        xi = self.no_xi, self.no_proj, self.xi == "carried"
        return How(self.eta1, self.eta2, self.momentum, self.ascents, rho, *xi)

    @property
    def lets_go(self) -> bool:
        """Whether M is held only as far as what spans it is trusted."""
        return bool(self.held.overlap or self.held.agreement)

    def subspace(
        self, step: Step, trust: tuple[Tensor, Tensor] | None = None
    ) -> tuple[list[list[Tensor]], list[Tensor]]:
        """(V with P_M = V^T V, [rank, in + 1], by replica and layer; the ranks [S] by layer).

        M is what the layers see under the last parameters. trust: [S] in gold and in the lookback;
        without it M is held whole.
        """
        gold = Rows(
            step.gold.X[:, : self.rows],
            step.gold.y[:, : self.rows],
            step.gold.count.clamp(max=self.rows),
        )
        h = torch.cat([gold.X, step.lookback.X], 1)
        real = torch.cat([gold.mask, step.lookback.mask], 1)[:, :, None].float()
        most = None
        if trust is not None:
            most = torch.maximum(*trust)
            share = [(c / most.clamp(min=1e-30)).sqrt()[:, None] for c in trust]  # [S, 1] each
            sets = zip(share, (gold, step.lookback), strict=True)
            real = real * torch.cat([c.expand(-1, r.X.shape[1]) for c, r in sets], 1)[:, :, None]
        n = real.square().sum(1, keepdim=True).clamp(min=1e-9)
        grams = []
        for layer in step.theta:
            seen = F.pad(h, (0, 1), value=1.0) * real  # [S, n, in + 1], bias included
            grams.append(seen.transpose(1, 2) @ seen / n)
            h = affine(h, layer).relu()
        V, rank = span(grams, self.energy, self.cap, most)
        layers = [list(zip(v.mT, r, strict=True)) for v, r in zip(V, rank, strict=True)]
        bases = [[v[:r].contiguous() for v, r in one] for one in zip(*layers, strict=True)]
        return bases, rank


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


def span(
    grams: list[Tensor], energy: float, cap: float, held: Tensor | None
) -> tuple[list[Tensor], list[Tensor]]:
    """Directions that each layer's inputs take, the leading ones first, and how many span M.

    At most `cap` of a layer's width; held: how far M is, [S]. Layers of one width are decomposed in
    one batched call.
    """
    V: dict[int, Tensor] = {}
    rank: dict[int, Tensor] = {}
    S = len(grams[0])
    for width in {g.shape[1] for g in grams}:
        layers = [i for i, g in enumerate(grams) if g.shape[1] == width]
        together = torch.cat([grams[i] for i in layers])
        vectors, ranks, values = leading(together, energy, most=int(cap * width))
        if held is not None:
            vectors = vectors * held_part(values, held.repeat(len(layers))).sqrt()[:, None]
        for i, v, r in zip(layers, vectors.split(S), ranks.split(S), strict=True):
            V[i], rank[i] = v, r
    order = range(len(grams))
    return [V[i] for i in order], [rank[i] for i in order]
