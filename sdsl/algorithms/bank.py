"""A bank of mixtures that follow classes, each with its own modes and idea of motion.

Predicted mean of a component: m + B (m - c) + (I + B) u, where c is the mixture's centre, u the
component's velocity and B a linear flow shared by all, 0 for a member that has velocities only.
Then u <- (I + B) u + .3 (m' - predicted). Where classes overlap, EM cannot tell whose motion it
sees: a member without flow believes what sets a component apart from the common motion by its
clarity only, and its velocity carries it through. A member's score is its faded predictive
log-likelihood, e <- .8 e + .2 log p(X | prediction).
"""

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from sdsl.algorithms.gold_mixture import WIDE, gold_mixture, parts_of
from sdsl.algorithms.mixture import Mixture
from sdsl.algorithms.registration import centre, even

GAIN = 0.3  # how much of a surprise becomes velocity
FADE = 0.8  # how much of the flow's evidence and of a score lasts
RIDGE = 0.02  # of the flow's regression, against the spread of the components
HASTE = 3.0  # nats by which a member that forgets shares sooner must be ahead
NOISE = 0.5  # rows' covariance that it is ridged by: means are known only so well


@dataclass(frozen=True)
class Member:
    components: int  # a class, at most
    flow: bool  # fit a linear flow to the motion
    share: float  # segments that the last shares stand for


@dataclass(frozen=True)
class Bank:
    """What passes from step to step: M members of K components."""

    mix: Mixture
    velocity: Tensor  # [M, K, d]
    inner: Tensor  # [F, d, d] faded sum of w z z', z = m - c; the F members with a flow stand last
    outer: Tensor  # [F, d, d] faded sum of w dz z'
    score: Tensor  # [M]
    share: Tensor  # [M] segments that the last shares stand for


def numbers(parts: list[int], d: int, form: str, flow: bool) -> int:
    """How many numbers a member holds; a symmetric matrix counts once."""
    K, matrix = sum(parts), d * (d + 1) // 2
    cov = {"full": K * matrix + matrix, "tied": matrix, "diagonal": K * d + d}[form]
    return K * (2 * d + 1) + cov + flow * (matrix + d * d) + 1


@dataclass(frozen=True)
class Plan:
    """What a bank will hold."""

    form: str  # of the covariances: full | tied | diagonal
    members: list[Member]
    numbers: int

    @property
    def components(self) -> list[int]:
        return sorted({m.components for m in self.members})


def plan(
    y: Tensor,
    ks: list[int],
    flow: bool,
    shares: list[float],
    d: int,
    classes: int,
    budget: int,
    likely: int = 1,
) -> Plan:
    """As many of the members asked for as fit into the budget.

    likely: the components a class that suit gold best; for these all shares are tried.
    """
    parts = {k: parts_of(y, k, d, classes) for k in sorted(ks)}
    ks = [k for i, k in enumerate(parts) if parts[k] not in list(parts.values())[:i]]
    form = "full" if d <= WIDE else "diagonal"
    if form == "full" and numbers(parts[ks[0]], d, form, False) > budget:
        form = "tied"
    flows = [False, True] if flow and form == "full" else [False]
    asked = [Member(k, moving, shares[0]) for k in ks for moving in flows]
    if form == "full":  # with many features scores differ by how means fit, not by shares
        most = max([k for k in ks if k <= likely], default=ks[0])
        asked += [Member(most, False, b) for b in shares[1:]]
    members: list[Member] = []
    held = 0
    for member in asked:
        more = numbers(parts[member.components], d, form, member.flow)
        if not members or held + more <= budget:
            members.append(member)
            held += more
    return Plan(form, sorted(members, key=lambda m: m.flow), held)


def begin(
    X: Tensor, y: Tensor, plan: Plan, classes: int, floor: float, generator: torch.Generator
) -> Bank:
    """The bank as gold rows X [n, d] with labels y [n] make it."""
    d, members, form = X.shape[1], plan.members, plan.form
    parts = {m.components: parts_of(y, m.components, d, classes) for m in members}
    slots = max(sum(p) for p in parts.values())
    fitted = {k: gold_mixture(X, y, p, slots, form, floor, generator) for k, p in parts.items()}
    chosen = [fitted[m.components] for m in members]
    mix = Mixture(*(torch.cat([getattr(m, f.name) for m in chosen]) for f in fields(Mixture)))
    square = X.new_zeros(sum(m.flow for m in members), d, d)
    share = X.new_tensor([m.share for m in members])
    return Bank(mix, torch.zeros_like(mix.mean), square, square, torch.zeros_like(share), share)


def predict(bank: Bank) -> tuple[Mixture, Tensor]:
    """Where every member expects its components now, and their velocities there [M, K, d]."""
    mix, still = bank.mix, len(bank.score) - len(bank.inner)
    mean, velocity = mix.mean + bank.velocity, bank.velocity
    if still == len(mean):
        return replace(mix, mean=mean), velocity
    eye = torch.eye(mean.shape[2], dtype=mean.dtype)
    spread = bank.inner.diagonal(dim1=1, dim2=2).mean(1)[:, None, None]
    ridge = NOISE * mix.pooled[still:] + (RIDGE * spread + 1e-9) * eye
    B = torch.linalg.solve(bank.inner + ridge, bank.outer.mT).mT
    flow, c = B + eye, centre(mix)[still:]
    mean[still:] = c + (mean[still:] - c) @ flow.mT
    velocity = torch.cat([velocity[:still], velocity[still:] @ flow.mT])
    U, S, V = torch.linalg.svd(flow)
    turn = (U * S.clamp(0.5, 2)[:, None]) @ V  # no covariance collapses or bursts in one step
    cov, pooled = mix.cov.clone(), mix.pooled.clone()
    cov[still:] = even(turn[:, None] @ cov[still:] @ turn.mT[:, None])
    pooled[still:] = even(turn @ pooled[still:] @ turn.mT)
    return replace(mix, mean=mean, cov=cov, pooled=pooled), velocity


def clarity(r: Tensor, owner: Tensor, classes: int) -> Tensor:
    """How far a component's rows are its own class's, 0: as by chance, 1: wholly: [M, K]."""
    index = owner[:, None].expand_as(r)
    q = r.new_zeros(*r.shape[:2], classes).scatter_add(2, index, r)  # class posteriors
    share = q.mean(1).gather(1, owner)
    pure = (r * q.gather(2, index)).sum(1) / r.sum(1).clamp(min=1e-9)
    return ((pure - share) / (1 - share).clamp(min=1e-9)).clamp(0, 1)


def move(bank: Bank, start: Mixture, velocity: Tensor, mix: Mixture, clear: Tensor) -> Bank:
    """The bank after EM has turned the prediction `start` into `mix`; clear [M, K]."""
    still = len(bank.score) - len(bank.inner)
    g = torch.cat([clear[:still], torch.ones_like(clear[still:])])[..., None]
    surprise = mix.mean - start.mean
    common = (mix.weight[..., None] * surprise).sum(1, keepdim=True)
    surprise = common + g * (surprise - common)
    cov = mix.cov
    if mix.form != "tied":
        cov = start.cov + g.view(*g.shape[:2], *[1] * (cov.dim() - 2)) * (cov - start.cov)
    mix = replace(mix, mean=start.mean + surprise, cov=cov)
    velocity = velocity + GAIN * surprise
    w, old = mix.weight[still:, :, None], (bank.mix.mean - centre(bank.mix))[still:]
    change = (mix.mean - centre(mix))[still:] - old
    inner = FADE * bank.inner + (w * old).mT @ old
    outer = FADE * bank.outer + (w * change).mT @ old
    return replace(bank, mix=mix, velocity=velocity, inner=inner, outer=outer)
