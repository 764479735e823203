"""The tracker: classes are mixtures of Gaussians that EM moves with the stream.

y(x) = argmax_c sum_{k of c} w_k N(x; m_k, S_k) of the bank's member with the largest score; while
`hold`, y(x) = argmax f(x), f being gold's own rule: the network or gold's mixture, by
cross-validation. Hold ends where gold and X_t differ, p < alarm. It returns where they agree again,
p > back, and the tracker gives every class most of the rows that f gives it. Without hold EM starts
where the whole picture went (registration.py); a member that relabels m rows takes over only where
its score is larger by stay m.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sdsl.algorithms import bank as banks
from sdsl.algorithms.bank import Bank
from sdsl.algorithms.gold_rule import drift, gold_rules, left_out, needed, returns, unlikely
from sdsl.algorithms.mixture import (
    Mixture,
    Priors,
    by_class,
    counted_fit,
    log_density,
    log_joint,
    responsibilities,
)
from sdsl.algorithms.registration import registered
from sdsl.algorithms.tracked import Tracked
from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.fields import number, setting
from sdsl.core.finite import scored
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.core.training import Training

HELD_ROUNDS = 3  # of EM while class posteriors are fixed to f's


@dataclass
class Tracker(Labeler):
    components: list[int] = setting()  # per class; one or two members of the bank for each
    more: list[int] = setting()  # the same, only where gold shows that they are needed
    flow: bool = setting()  # also members that fit a linear flow (turn, growth) to the motion
    fit: Training = setting()  # of the networks that cross-validation on gold needs
    rounds: int = number(low=1)  # of EM
    mean: float = number(low=0)  # rows that a predicted mean stands for
    share: list[float] = setting()  # segments that the last shares stand for; a member each
    memory: float = number(low=0)  # segments that the last covariances stand for
    floor: float = number(low=1e-12)  # added to every variance
    register: bool = setting()  # EM starts where the whole picture went
    stay: float = number(low=0)  # nats a relabelled row by which another member must be ahead
    likelihood: bool = setting()  # drift is also tested by the likelihood of rows
    alarm: float = number(low=0, high=1)
    back: float = number(low=0, high=1)

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        C, d = learner.classes, gold.X.shape[2]
        budget = 100 * (d + 1) + 101 * 100 + 101 * C  # the default network's weights
        self.banks, self.held, self.numbers, plans = [], [], [], []
        for s, generator in enumerate(draws.generators):
            X, y = gold.replica(s)
            X = X.double()
            asked = banks.plan(y, self.components + self.more, self.flow, self.share, d, C, budget)
            tried = {
                k: left_out(X, y, k, asked.form, self.floor, C, generator) for k in asked.components
            }
            ks = needed(tried, self.components)
            likely = max(ks, key=lambda k: tried[k].score)
            plan = banks.plan(y, ks, self.flow, self.share, d, C, budget, likely)
            bank = banks.begin(X, y, plan, C, self.floor, generator)
            self.banks.append(bank)
            self.numbers.append(plan.numbers)
            own = {m.components: bank.mix.pick(i) for i, m in enumerate(plan.members) if not m.flow}
            plans.append((plan.form, own, tried))
        self.rules = gold_rules(gold, plans, self.fit, learner, draws)
        self.held = [True] * len(self.banks)
        self.last: list[int | None] = [None] * len(self.banks)

    @torch.no_grad()
    def label(self, step: Step, learner: Learner) -> Pseudo:
        rows, step = step.X, step.fixed()  # the bank stays in the units of gold
        f = self.rules[0].network(step.X, learner)  # [S, n, C]
        asked = any(h and r.by_network for h, r in zip(self.held, self.rules, strict=True))
        peers = self.rules[0].peers(step.X, learner) if asked else f.argmax(2)  # [S, n]
        found = [
            self.one(s, step, f[s], peers[s], generator, learner.classes)
            for s, generator in enumerate(step.draws.generators)
        ]
        y = torch.stack([labels for labels, _, _ in found])
        log = {
            name: torch.tensor([one[name] for _, one, _ in found], dtype=torch.float64)
            for name in found[0][1]
        }
        network = torch.tensor(
            [held and rule.by_network for held, rule in zip(self.held, self.rules, strict=True)]
        )
        return Tracked(y, Rows.full(rows, y), log, [rule for _, _, rule in found], network)

    def one(
        self, s: int, step: Step, f: Tensor, peers: Tensor, generator: torch.Generator, C: int
    ) -> tuple[Tensor, dict[str, float], Mixture]:
        """(labels [n], what to log, the mixture that decides) of replica s."""
        X, rule, before = step.X[s].double(), self.rules[s], self.banks[s]
        if not rule.by_network:
            f, peers = rule.mixture(X, C), rule.own_of(X, C) if self.held[s] else peers
        gold = step.gold.replica(s)[0].double()
        fresh = self.held[s]
        limit = self.alarm if fresh else self.back
        low = unlikely(rule, X) if self.likelihood else 1.0
        p = drift(gold, X, rule, peers if fresh else None, low, limit, generator)
        if fresh and p < self.alarm:
            self.held[s] = False
        start, velocity = banks.predict(before)
        if self.register and not self.held[s]:
            still = len(before.score) - len(before.inner)
            turn = rule.turn if fresh else None
            start, velocity = registered(start, velocity, X, still, turn)
        score = log_density(start, X).sum(1)
        score = banks.FADE * before.score + (1 - banks.FADE) * score
        priors = Priors(self.mean, before.share, self.memory, self.floor)
        q = f if self.held[s] else None
        most = HELD_ROUNDS if self.held[s] else self.rounds
        mix, rounds = counted_fit(start, X, priors, most, q)
        r = responsibilities(log_joint(mix, X), mix.owner, q)
        clear = banks.clarity(r, mix.owner, C)
        bank = replace(banks.move(before, start, velocity, mix, clear), score=score)
        best = self.chosen(s, bank, X, C)
        mine = bank.mix.pick(best)
        joint = by_class(log_joint(mine, X), mine.owner, C)[0].mT  # [C, n]
        posterior = joint.softmax(0).mT.contiguous()  # [n, C]
        scored(posterior, "the tracked mixture's probabilities")
        y = posterior.argmax(1)
        if not self.held[s] and p > self.back and returns(f.argmax(1), y, C):
            self.held[s] = True
        log = report(before, bank, best, posterior, C) | {
            "rounds": float(rounds),
            "hold": float(self.held[s]),
            "hold_p": p,
            "gold_agreement": float((f.argmax(1) == y).double().mean()),
            "memory_numbers": 0.0,
            "model_numbers": float(self.numbers[s]),
        }
        self.banks[s] = bank
        if self.held[s]:
            return f.argmax(1), log, mine if rule.by_network else rule.gold
        return y, log, mine

    def chosen(self, s: int, bank: Bank, X: Tensor, C: int) -> int:
        """The member with the largest score; one that would relabel many rows must be ahead."""
        score = bank.score - banks.HASTE * (bank.share < bank.share.max())
        last, best = self.last[s], int(score.argmax())
        if last is not None and last != best:
            joint = by_class(log_joint(bank.mix, X), bank.mix.owner, C).mT  # [M, C, n]
            y = joint.max(1).indices  # argmax is slow where rows lie next to each other
            relabelled = (y != y[last]).sum(1)
            best = int((score - self.stay * relabelled).argmax())
        self.last[s] = best
        return best


def report(before: Bank, bank: Bank, best: int, posterior: Tensor, C: int) -> dict[str, float]:
    """What the chosen member saw, for the log."""
    order = bank.score.sort(descending=True).values
    now, then = shares(bank, best, C), shares(before, best, C)
    P = bank.mix.pooled[best]
    sd = (P if P.dim() == 1 else P.diagonal()).sqrt()
    speed = (bank.velocity[best] / sd).norm(dim=1)
    shared = posterior.T @ posterior  # [C, C]
    size = shared.sum(1)
    shared = (shared / torch.minimum(size[:, None], size).clamp(min=1e-9)).fill_diagonal_(0)
    return {
        "member": float(best),
        "margin": float(order[0] - order[min(1, len(order) - 1)]),
        "speed": float(speed @ bank.mix.weight[best]),
        "share_least": float(now.min()),
        "share_most": float(now.max()),
        "share_change": float((now - then).abs().max()),
        "overlap": float(shared.max()),  # of the two nearest classes: near 1 they may be swapped
    }


def shares(bank: Bank, best: int, C: int) -> Tensor:
    weight = bank.mix.weight[best]
    return weight.new_zeros(C).index_add(0, bank.mix.owner[best], weight)
