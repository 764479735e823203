"""A method on its way along a stream: all that it keeps between two steps, and the step itself.

y_t = labeler(D, D_{t-1}, X_t);  theta_t = replay(theta_{t-1}, y_t);  D_t = lookback(X_t, y_t).

Rows are standardised by a scaler that is fitted on D and X_1 and then, by `stream.scaler`,
frozen    left as it is;
running   refitted on X_t and the lookback at each step, the network staying the same function of
          raw rows: classes that travel far from gold stay near 0, where a network can learn;
per_step  refitted without that, as RECORD does: what the network had learnt shifts under it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from sdsl.core.clock import Clock
from sdsl.core.contract import Method, Pseudo, Step
from sdsl.core.finite import NotFinite, all_finite, broken
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.core.scaler import Scaler


class Adaptation:
    """S replicas of a method; rows come in raw and are scaled here."""

    def __init__(
        self, method: Method, learner: Learner, gold: Rows, scaler: str, seeds: Sequence[int]
    ):
        self.method, self.learner, self.raw_gold, self.scaling = method, learner, gold, scaler
        self.draws = Draws(seeds, "batches")
        self.clock = Clock()
        self.t = 0

    def begin(self, X: Tensor, foreseen: Iterable[tuple[Tensor, Tensor]] = ()) -> None:
        """Fit on gold. X is the first segment, which helps to set the scale.

        foreseen: raw (X_t, true labels) of every segment to come, for privileged components.
        """
        method, gold = self.method, self.raw_gold
        none = self.scaling == "none"
        self.scaler = Scaler.identity(gold.X) if none else first_scaler(gold, X)
        self.first = self.scaler
        self.given = 0.0
        with self.clock("train"), self.watched("pretraining"):
            self.gold = self.scaler.rows(gold)
            self.given = largest(self.gold.X)
            self.learner.fit(method.pretrain, [self.gold], self.draws)
            if method.labeler.privileged:
                method.labeler.foresee((self.scaler(X), y) for X, y in foreseen)
            method.labeler.start(self.gold, self.learner, self.draws)
            method.replay.start(self.gold, self.learner, self.draws)
        self.lookback = Rows.empty_like(gold.X)

    def step(self, X: Tensor, truth: Tensor | None = None) -> tuple[Pseudo, dict[str, Tensor]]:
        """Label the raw segment X [S, n, d] and learn from it; (labels, what the parts report)."""
        self.t += 1
        if self.scaling in ("running", "per_step"):
            self._rescale(X)
        labeler, replay = self.method.labeler, self.method.replay
        step = Step(
            self.t,
            self.gold,
            self.lookback,
            self.scaler(X),
            self.learner.copy(),
            self.draws,
            truth if labeler.privileged else None,
            self.scaler,
            self.first,
        )
        self.given = largest(step.X)
        with self.clock("label"), self.watched("labeler"):
            pseudo = labeler.label(step, self.learner)
        with self.clock("train"), self.watched("replay"):
            replayed = replay.replay(step, pseudo, self.learner) or {}
            self.lookback = self.method.lookback.keep(pseudo.rows, self.learner, self.draws)
        held = numbers_held((pseudo.log, replayed), self.lookback, self.learner)
        return pseudo, pseudo.log | replayed | held

    @contextmanager
    def watched(self, part: str) -> Iterator[None]:
        """Numbers that are no longer finite end the run, with a sentence that names the part."""
        why = "the network's parameters are no longer finite numbers"
        try:
            yield
        except (NotFinite, ValueError, RuntimeError) as error:  # a decomposition of NaN, say
            found = isinstance(error, NotFinite)
            if not found and all_finite(self.learner.theta):
                raise
            cause = str(error) if found else why
            raise broken(self.t, part, cause, self.scaling, self.given) from error
        # A network that another classifier stands in for decides nothing.
        if self.learner.classifier is None and not all_finite(self.learner.theta):
            raise broken(self.t, part, why, self.scaling, self.given)

    def _rescale(self, X: Tensor) -> None:
        """A scaler of X_t and the rows in store (at first of D), fitted anew."""
        raw = Rows(self.scaler.undo(self.lookback.X), self.lookback.y, self.lookback.count)
        stored = raw if self.t > 1 else self.raw_gold
        real = [stored.replica(s)[0] for s in range(len(X))]  # padding has no say
        before = self.scaler
        # Stored rows were scaled and are not quite what they were: that is no spread of a feature.
        self.scaler = Scaler.fit(X, real, rounding=before.rounding)
        if self.scaling == "running":
            self.learner.rescale(before, self.scaler)
        self.gold, self.lookback = self.scaler.rows(self.raw_gold), self.scaler.rows(raw)


def largest(X: Tensor) -> float:
    return float(X.abs().amax()) if X.numel() else 0.0


def numbers_held(
    logs: Iterable[Mapping[str, Tensor]], lookback: Rows, learner: Learner
) -> dict[str, Tensor]:
    """How many numbers pass to the next step besides gold, for each replica [S].

    model_numbers: of the model of the present; memory_numbers: of what is kept of the past. A part
    logs under these names what it holds besides the lookback and the network. A network that
    another classifier stands in for counts only if a part says so.
    """
    d, network = lookback.X.shape[2], sum(p[0].numel() for p in learner.theta)
    memory = lookback.count * (d + 1)
    model = torch.full_like(memory, network if learner.classifier is None else 0)
    for log in logs:
        memory = memory + log.get("memory_numbers", 0)
        model = model + log.get("model_numbers", 0)
    return {"memory_numbers": memory, "model_numbers": model}


def first_scaler(gold: Rows, X: Tensor) -> Scaler:
    """Of D and X_1: frozen, or refitted at each step."""
    # Padding of a ragged gold set repeats its first row, so it cannot shift the mean by much.
    return Scaler.fit(torch.where(gold.mask[:, :, None], gold.X, gold.X[:, :1]), X)
