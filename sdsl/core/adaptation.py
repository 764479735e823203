"""A method on its way along a stream: all that it keeps between two steps, and the step itself.

y_t = labeler(D, D_{t-1}, X_t);  theta_t = replay(theta_{t-1}, y_t);  D_t = lookback(X_t, y_t).

Rows are standardised by a scaler that is fitted on D and X_1 and then, by `stream.scaler`,
frozen    left as it is;
per_step  refitted on X_t and the lookback at each step, as RECORD does: the rows shift under what
          the network has learnt.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from torch import Tensor

from sdsl.core.checks import check_log, check_pseudo, crashed, watch
from sdsl.core.contract import Log, Method, Pseudo, Step
from sdsl.core.draws import Draws
from sdsl.core.finite import NotFinite, all_finite, not_finite
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows, misfit
from sdsl.core.scaler import Scaler
from sdsl.errors import UserError


class Adaptation:
    """A method and its learner; rows come in raw and are scaled here."""

    def __init__(self, method: Method, learner: Learner, gold: Rows, scaler: str, seed: int):
        self.method, self.learner, self.raw_gold, self.scaling = method, learner, gold, scaler
        self.draws = Draws(seed, "batches")
        self.seconds: dict[str, float] = defaultdict(float)  # by part: train, label, eval
        self.t, self.largest = 0, 0.0  # largest: |value| of the rows given last, scaled

    def begin(self, X: Tensor, foreseen: Iterable[tuple[Tensor, Tensor]] = ()) -> None:
        """Fit on gold. X is the first segment, which helps to set the scale.

        foreseen: raw (X_t, true labels) of every segment to come, for privileged components.
        """
        method, gold = self.method, self.raw_gold
        d = gold.X.shape[1]
        self.scaler = Scaler.identity(d) if self.scaling == "none" else Scaler.fit(gold.X, X)
        with self.clock("train"):
            with self.watched("pretraining"):
                self.gold = self.scaler.rows(gold)
                self.largest = _largest(self.gold.X)
                self.learner.fit(method.pretrain, [self.gold], self.draws)
            check = watch(self.learner, True, self.gold.X, self.gold.y)
            with self.watched("pretraining", method.labeler):
                if method.labeler.privileged:
                    method.labeler.foresee((self.scaler(X), y) for X, y in foreseen)
                method.labeler.start(self.gold, self.learner, self.draws)
            check(method.labeler.start)
            with self.watched("pretraining", method.replay):
                method.replay.start(self.gold, self.learner, self.draws)
            check(method.replay.start)
        self.lookback = Rows.empty(d)

    def step(self, X: Tensor, truth: Tensor | None = None) -> tuple[Pseudo, Log]:
        """Label the raw segment X [n, d] and learn from it; (labels, the log of both parts)."""
        self.t += 1
        if self.scaling == "per_step":
            self._rescale(X)
        labeler, replay = self.method.labeler, self.method.replay
        step = Step(
            t=self.t,
            gold=self.gold,
            lookback=self.lookback,
            X=self.scaler(X),
            theta=self.learner.copy(),
            draws=self.draws,
            truth=truth if labeler.privileged else None,
        )
        self.largest, exact = _largest(step.X), self.t & (self.t - 1) == 0
        given = step.X, self.gold.X, self.gold.y, self.lookback.X, self.lookback.y
        check = watch(self.learner, exact, *given)
        with self.clock("label"):
            with self.watched("labeler", labeler):
                pseudo = labeler.label(step, self.learner)
            check_pseudo(labeler.label, pseudo, step, self.learner)
            check(labeler.label)
        with self.clock("train"):
            with self.watched("replay", replay):
                replayed = replay.replay(step, pseudo, self.learner)
            replayed = {} if replayed is None else replayed
            check_log(replay.replay, replayed)
            check(replay.replay)
            self.lookback = self.method.lookback.keep(pseudo.rows, self.learner, self.draws)
        return pseudo, pseudo.log | replayed | self.numbers_held(pseudo.log, replayed)

    @contextmanager
    def clock(self, part: str) -> Iterator[None]:
        """Adds the wall time of its block to self.seconds[part]."""
        start = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - start

    @contextmanager
    def watched(self, part: str, component: Any = None) -> Iterator[None]:
        """Numbers that are no longer finite end the run, with a sentence that names the part.

        So does any other exception in the code of the component.
        """
        why = "the network's parameters are no longer finite numbers"
        try:
            yield
        except Exception as error:
            numeric = isinstance(error, ValueError | RuntimeError)  # a decomposition of NaN, say
            if isinstance(error, NotFinite) or (numeric and not all_finite(self.learner.theta)):
                cause = str(error) if isinstance(error, NotFinite) else why
                raise not_finite(self.t, part, cause, self.scaling, self.largest) from error
            if component is None or isinstance(error, UserError):
                raise
            raise crashed(component, error) from error
        # If a component installed its own classifier, the network is unused.
        if self.learner.classifier is None and not all_finite(self.learner.theta):
            raise not_finite(self.t, part, why, self.scaling, self.largest)

    def numbers_held(self, *logs: Mapping[str, float]) -> Log:
        """How many numbers pass to the next step besides gold.

        model_numbers: of the model of the present; memory_numbers: of what is kept of the past. A
        part logs under these names what it holds besides the lookback and the network; where it
        installed a classifier of its own, the network counts only if it says so.
        """
        rows, network = self.lookback, sum(p.numel() for p in self.learner.theta)
        memory = float(len(rows) * (rows.X.shape[1] + 1))
        model = float(network if self.learner.classifier is None else 0)
        return {
            "memory_numbers": memory + sum(log.get("memory_numbers", 0) for log in logs),
            "model_numbers": model + sum(log.get("model_numbers", 0) for log in logs),
        }

    def _rescale(self, X: Tensor) -> None:
        """A scaler of X_t and the rows in store (at first of D), fitted anew."""
        raw = Rows(self.scaler.undo(self.lookback.X), self.lookback.y)
        stored = raw if self.t > 1 else self.raw_gold
        # Stored rows were scaled and undone: the rounding of that is no spread of a feature.
        self.scaler = Scaler.fit(X, stored.X, rounding=self.scaler.rounding)
        self.gold, self.lookback = self.scaler.rows(self.raw_gold), self.scaler.rows(raw)

    def state(self) -> dict[str, Any]:
        """A copy of everything that passes from step to step, as plain data (see core/state.py)."""
        now = {
            "t": self.t,
            "scaling": self.scaling,
            "gold": vars(self.raw_gold),
            "lookback": vars(self.lookback),
            "scaler": vars(self.scaler),
            "draws": self.draws.state(),
            "seconds": dict(self.seconds),
            "learner": self.learner.state(),
            "labeler": self.method.labeler.state(),
            "replay": self.method.replay.state(),
        }
        return deepcopy(now)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken, with the same bits."""
        state = deepcopy(dict(state))
        self.t, self.scaling = state["t"], state["scaling"]
        self.raw_gold, self.lookback = Rows(**state["gold"]), Rows(**state["lookback"])
        self.scaler, d = Scaler(**state["scaler"]), self.learner.sizes[0]
        for rows in (self.raw_gold, self.lookback):  # compiled loops do not look
            if found := misfit(rows, d, self.learner.classes):
                raise ValueError(found)
        if any(part.shape != (1, d) for part in (self.scaler.mean, self.scaler.scale)):
            raise ValueError(f"a scale that is not of {d} features")
        self.gold = self.scaler.rows(self.raw_gold)
        self.draws.restore(state["draws"])
        self.seconds.update(state["seconds"])
        self.learner.restore(state["learner"])
        for name, part in (("labeler", self.method.labeler), ("replay", self.method.replay)):
            with self.watched(name, part):
                part.restore(state[name], self.gold, self.learner)


def _largest(X: Tensor) -> float:
    return float(X.abs().amax()) if X.numel() else 0.0
