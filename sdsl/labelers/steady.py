"""Steady: a fixed vote labels the stream, and a tracker those segments where evidence is for it.

The tracker labels X_t if all of this holds, else the vote does:
- on gold rows that were left out of both, its accuracy is at least `apart`, so that its classes can
  be told apart, and at most `worse` below the vote's;
- in the first segment it contradicted the vote on at most `first` of the rows;
- its twins agree: of two trackers that were fitted to a half of gold each, neither pair (gold is
  halved twice) differs on more than `twins` of the rows of X_t;
- nothing has jumped: no segment was likelier after EM than foreseen by more than `surprise` nats a
  row while the tracker's contradiction of the vote grew by more than `growth`. Where it had already
  contradicted the vote on more than `first` of the rows, the vote is stale and jumps do not count.
Sure of y is the vote's p(c | x), or the tracker's where it decides, drawn to 1 / C by the share of
rows on which the twins differ.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows, rank_in_class
from sdsl.core.settings import Share, Weight, settings
from sdsl.labelers.tracker import Tracker, network_numbers
from sdsl.labelers.vote import Vote

FOLDS = 4  # of the tracker's cross-validation
HALVINGS = 2  # of gold, each for a pair of twins


@settings
class Steady(Labeler):
    vote: Vote
    tracker: Tracker
    apart: Share
    worse: Share
    first: Share
    twins: Share
    surprise: Weight
    growth: Share

    own_units = True  # those of its parts

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.vote.start(gold, learner, draws)
        self.contradicted, self.most, self.decides = 0.0, 0.0, False
        room = network_numbers(gold.X.shape[1], learner.classes)
        self.trackers: list[Tracker] = []  # the tracker and its twins, while it may decide
        self.against = self.on_gold(gold, learner.classes, room)  # why it never decides
        if not self.against:
            halves = [gold]
            for _ in range(HALVINGS):
                side = rank_in_class(draws.uniform(len(gold)), gold.y, learner.classes) % 2
                halves += [gold[side == 0], gold[side == 1]]
            for part in halves:
                self.trackers.append(replace(self.tracker))
                self.trackers[-1].begin(part, room)
                room -= self.trackers[-1].numbers

    def on_gold(self, gold: Rows, classes: int, room: int) -> str:
        """Why left-out gold rows are against the tracker; "" if they are not."""
        if np.isnan(voted := self.vote.accuracy):
            return "gold has too few rows of a class to compare the two"
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=self.vote.seed)
        found, own = 0.0, replace(self.tracker)
        for rest, part in folds.split(gold.X, gold.y):
            own.begin(gold[torch.from_numpy(rest)], room)
            right = own.accuracy(gold[torch.from_numpy(part)], classes)
            found += right * len(part) / len(gold)
        if found >= max(self.apart, voted - self.worse):
            return ""
        return f"on gold the tracker has an accuracy of {found:.2f}, the vote of {voted:.2f}"

    def label(self, step: Step, learner: Learner) -> Pseudo:
        voted = self.vote.label(step, learner)
        self.decides = False
        if not self.trackers:
            return noted(voted, f"the vote decides: {self.against}", tracker_decides=0.0)
        tracked, *twins = [one.label(step, learner) for one in self.trackers]
        differ, surprise = differing(voted, tracked), tracked.log["surprise"]
        torn = max(map(differing, twins[::2], twins[1::2]))
        log = {"contradicted": differ, "torn": torn, "surprise": surprise}
        grown, stale = differ - self.contradicted, self.most > self.first
        self.contradicted, self.most = differ, max(differ, self.most)
        if step.t == 1 and differ > self.first:
            self.against = f"the tracker contradicted it on {differ:.0%} of the first segment"
        elif surprise > self.surprise and grown > self.growth and not stale:
            self.against = f"at step {step.t} the tracker jumped, contradicting it on {differ:.0%}"
        if self.against:
            self.trackers = []
            return noted(voted, f"the vote decides: {self.against}", tracker_decides=0.0, **log)
        held = sum(one.numbers for one in self.trackers)
        log["model_numbers"] = voted.log["model_numbers"] + held
        self.decides = torn <= self.twins
        if not self.decides:  # the replay remembers the tracker's mixture all the same
            why = f"the vote decides: twins of the tracker differ on {torn:.0%} of the rows"
            tracked = replace(tracked, y=voted.y, rows=voted.rows, p=voted.p, log=voted.log)
            return noted(tracked, why, tracker_decides=0.0, **log)
        learner.rule = None
        assert tracked.p is not None
        sure = (1 - torn) * tracked.p + torn / learner.classes
        return noted(replace(tracked, p=sure), "the tracker decides", tracker_decides=1.0, **log)

    def state(self) -> dict[str, Any]:
        parts = {"voted": self.vote.state(), "trackers": [one.state() for one in self.trackers]}
        return super().state() | parts

    def restore(self, state: Mapping[str, Any], gold: Rows, learner: Learner) -> None:
        self.contradicted, self.most = state["contradicted"], state["most"]
        self.decides, self.against = state["decides"], state["against"]
        self.vote.restore(state["voted"], gold, learner)
        self.trackers = [replace(self.tracker) for _ in state["trackers"]]
        for one, held in zip(self.trackers, state["trackers"], strict=True):
            one.restore(held, gold, learner)
        if self.decides:
            learner.rule = None


def differing(a: Pseudo, b: Pseudo) -> float:
    """The share of rows with another label."""
    assert a.y is not None and b.y is not None
    return float((a.y != b.y).double().mean())


def noted(pseudo: Pseudo, note: str, **log: float) -> Pseudo:
    return replace(pseudo, note=note, log=pseudo.log | log)
