"""Present and past in one rule: h(x) = argmax_c lambda p_now(x, c) + (1 - lambda) p_mem(x, c).

p_now is the labeler's mixture, or one fitted to the newly labelled rows; p_mem are the clusters of
memory. Where gold says that the network is better than such a mixture, the network
predicts: it is trained on the newly labelled rows and on samples of memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.algorithms.gold_folds import out_of_fold
from sdsl.algorithms.present import Present
from sdsl.algorithms.recalling import Recalling
from sdsl.algorithms.rehearsal import Rehearsal
from sdsl.algorithms.tracked import Tracked
from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import choice, number, setting
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.core.training import Training


@dataclass
class MixtureRule(Replay):
    present: float = number(low=0, high=1)  # lambda
    rows: float = number(low=0)  # memory holds no more numbers than so many rows with labels
    rule: str = choice("auto", "mixture", "network")  # auto: by cross-validation on gold
    clearly: float = number(low=0)  # standard errors by which the network must be ahead there
    pretrain: Training = setting()  # of the networks of that cross-validation
    fit: Training = setting()  # of the network, where it predicts
    samples: int = number(low=1)  # of memory that it sees at each step
    memory: float = number(low=0)  # their weight; the newly labelled rows weigh 1

    def own_units(self) -> bool:
        return True  # the last mixture stays where nothing is labelled; memory itself would do

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.rehearsal = Rehearsal(gold, learner.classes, self.rows)
        self.network = [self.rule == "network"] * len(gold.X)
        if self.rule == "auto":
            self.network = self.network_ahead(gold, learner, draws)
        self.install(self.rehearsal.newest, learner, 0)

    def network_ahead(self, gold: Rows, learner: Learner, draws: Draws) -> list[bool]:
        """Whether cross-validation on gold finds the network clearly better than a mixture."""
        (own, _), ahead = out_of_fold(gold, learner, self.pretrain, draws), []
        for s, labels in enumerate(self.rehearsal.out_of_fold):
            y = gold.replica(s)[1]
            gain = (own[s, : len(y)] == y).double() - (labels == y).double()
            ahead.append(bool(gain.mean() > self.clearly * gain.std(correction=0) / len(y) ** 0.5))
        return ahead

    @torch.no_grad()
    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict[str, Tensor]:
        rows, fit = pseudo.rows, self.rehearsal.fit
        given: Sequence[Present | None]
        if isinstance(pseudo, Tracked):  # None where it relies on the network as gold made it
            given = pseudo.presents()
        else:
            given = [fit(rows, s) for s in range(len(step.X))]
        train = [net and g is not None for net, g in zip(self.network, given, strict=True)]
        if any(train):
            self.train(train, step, rows, learner)
        known = [fit(rows, s) if g is None else g for s, g in enumerate(given)]
        self.rehearsal.remember(step.gold, rows, known, step.t)
        self.install(given, learner, step.t)
        weights = sum(p[0].numel() for p in learner.theta)
        own = zip(given, self.rehearsal.newest, strict=True)
        held = [mine.numbers if g is mine else 0 for g, mine in own]  # a labeler counts its own
        model = [weights if trained else h for trained, h in zip(train, held, strict=True)]
        return {
            "memory_numbers": self.rehearsal.past.numbers,
            "model_numbers": torch.tensor(model),
            "clusters": self.rehearsal.past.count,
            "by_network": torch.tensor([float(rule is None) for rule in self.rules]),
        }

    def install(self, given: Sequence[Present | None], learner: Learner, t: int) -> None:
        self.rules = [None if net else g for net, g in zip(self.network, given, strict=True)]
        past, whitening = self.rehearsal.past, self.rehearsal.whitening
        learner.classifier = Recalling(learner, self.rules, past, whitening, self.present, t)

    def train(self, who: Sequence[bool], step: Step, rows: Rows, learner: Learner) -> None:
        """The network's fit, for replicas that it predicts for; in the others nothing changes."""
        generators = step.draws.generators
        states = [g.get_state() for g in generators]
        before = [p.detach().clone() for p in (*learner.theta, *learner.teacher)]
        sets = [rows, self.rehearsal.samples(self.samples, rows, step.draws)]
        learner.fit(self.fit, sets, step.draws, weights=[1.0, self.memory])
        for s in (s for s, trained in enumerate(who) if not trained):
            generators[s].set_state(states[s])  # alone, this replica would not have come here
            for now, then in zip([*learner.theta, *learner.teacher], before, strict=True):
                now[s] = then[s]
