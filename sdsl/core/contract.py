"""The contract of generation -> replay: what a labeler and a replay step are given and give back.

h(D, D_{t-1}, X_t) -> y_t (paper, Eq. 1). Write a Labeler or a Replay, one class in one file, as a
dataclass whose fields are its settings; a component knows nothing of Hydra or MLflow.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from torch import Tensor

from sdsl.core.learner import Learner
from sdsl.core.lookback import Lookback
from sdsl.core.network import Theta
from sdsl.core.replica import Draws, Rows
from sdsl.core.scaler import Scaler
from sdsl.core.training import Training

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Step:
    """All that may be seen at step t, scaled: gold D, the lookback D_{t-1}, the segment X_t."""

    t: int
    gold: Rows
    lookback: Rows  # at most lookback.size rows, as the last step left them
    X: Tensor  # [S, n, d]
    theta: Theta  # a copy of the parameters as step t - 1 left them
    draws: Draws
    truth: Tensor | None = None  # [S, n], only for a component declared privileged
    scaler: Scaler | None = None  # what gold, lookback and X are scaled by
    first: Scaler | None = None  # what they were scaled by at t=0
    known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def fixed(self) -> "Step":
        """The same step in the units of t=0, for a component that keeps things in those units."""
        if self.scaler is None or self.first is None or self.scaler is self.first:
            return self
        return self.once("fixed", self._in_first_units)

    def _in_first_units(self) -> "Step":
        scaler, first = self.scaler, self.first
        assert scaler is not None and first is not None
        back = [Rows(scaler.undo(r.X), r.y, r.count) for r in (self.gold, self.lookback)]
        gold, lookback = (first.rows(rows) for rows in back)
        X = first(scaler.undo(self.X))
        return replace(self, gold=gold, lookback=lookback, X=X, scaler=first)

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """What labeler and replay both ask of a step is computed once, and goes with the step."""
        if key not in self.known:
            self.known[key] = compute()
        return self.known[key]


@dataclass(frozen=True)
class Pseudo:
    """What generation gives: a label per row (or None), the rows to replay, and what to log."""

    y: Tensor | None  # [S, n] labels of X_t, scored against the hidden truth by the engine
    rows: Rows  # what replay trains on; the next lookback is chosen from these
    log: dict[str, Tensor] = field(default_factory=dict)  # name -> [S]


@dataclass
class Labeler:
    """Generation: label X_t. Override `label`; `start` runs once, after the fit on gold.

    What `start` or `label` keep on self is forgotten by the next `start`.
    """

    privileged = False  # reads true labels: JT and the oracle controls, nobody else
    long_memory = False  # its rows may be older than t-1 (RECORD's buffer, by its own definition)

    def own_units(self) -> bool:
        """Whether it keeps scaled rows or parameters of its own: then the scale must not move."""
        return False

    def reduces_to(self, classes: int) -> dict[str, Any]:
        """Settings that act like others on so many classes, as those others: same bits, same log.

        A run that comes to the same as a finished one is not trained again.
        """
        return {}

    def foresee(self, segments: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Before `start`, and only if privileged: (X_t, true labels) of every segment to come."""

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        """Called once at t=0, with the learner fitted on gold."""

    def label(self, step: Step, learner: Learner) -> Pseudo:
        raise TypeError(f"{type(self).__name__} must define label(step, learner) -> Pseudo")


@dataclass
class Replay:
    """Replay: adapt the learner to the newly labelled segment without forgetting."""

    def own_units(self) -> bool:
        """Whether it keeps scaled rows or parameters of its own: then the scale must not move."""
        return False

    def reduces_to(self, classes: int) -> dict[str, Any]:
        """Settings that act like others on so many classes, as those others: same bits, same log.

        A run that comes to the same as a finished one is not trained again.
        """
        return {}

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        """Called once at t=0, with the learner fitted on gold."""

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict[str, Tensor]:
        """Update the learner in place; may return things to log, name -> [S]."""
        raise TypeError(f"{type(self).__name__} must define replay(step, pseudo, learner)")


@dataclass(frozen=True)
class Method:
    """A method is a composition: generation, replay, what is kept, and the first fit on gold."""

    labeler: Labeler
    replay: Replay
    lookback: Lookback
    pretrain: Training
