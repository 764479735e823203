"""The contract of generation -> replay: what a labeler and a replay step are given and give back.

h(D, D_{t-1}, X_t) -> y_t (paper, Eq. 1). Write a Labeler or a Replay as a class under `@settings`,
whose fields are its settings; a component does not import Hydra or MLflow.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from torch import Tensor

from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.lookback import Lookback
from sdsl.core.network import Theta
from sdsl.core.rows import Rows
from sdsl.core.training import Training

if TYPE_CHECKING:
    from sdsl.core.engine import Outcome
    from sdsl.core.stream import Stream

Made = TypeVar("Made")
Log = dict[str, float]  # numbers of one step, by name
Measured = dict[str, float | np.ndarray]  # numbers and curves


@dataclass(frozen=True, eq=False)
class Step:
    """All that may be seen at step t, scaled: gold D, the lookback D_{t-1}, the segment X_t."""

    t: int
    gold: Rows
    lookback: Rows  # at most lookback.size rows, as the last step left them
    X: Tensor  # [n, d]
    theta: Theta  # a copy of the parameters as step t - 1 left them
    draws: Draws
    truth: Tensor | None = None  # [n], only for a component declared privileged
    known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, key: Any, compute: Callable[[], Made]) -> Made:
        """The result of `compute`, shared by labeler and replay: it is called once per step."""
        if key not in self.known:
            self.known[key] = compute()
        return self.known[key]


@dataclass(frozen=True)
class Pseudo:
    """The result of generation: a label per row (or None), the rows to replay, numbers to log."""

    y: Tensor | None  # [n] labels of X_t, scored against the hidden truth by the engine
    rows: Rows  # replay trains on these; the next lookback is chosen from them
    log: Log = field(default_factory=dict)
    p: Tensor | None = None  # [n, C] how sure of y, where it is another number than the learner's
    note: str = ""  # a sentence on this step, for whoever uses the labels


class Component:
    """A part of a method: settings from its YAML, and state that passes from step to step."""

    own_units = False  # keeps scaled rows or parameters of its own, so the scale must not move

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        """Called once at t=0, with the learner fitted on gold; sets all state anew."""

    def state(self) -> dict[str, Any]:
        """All attributes that are not settings, as plain data.

        Plain data are tensors, arrays, numbers, text, None, and lists, tuples and dicts of them.
        """
        settings = getattr(self, "__dataclass_fields__", {})
        return {key: value for key, value in vars(self).items() if key not in settings}

    def restore(self, state: Mapping[str, Any], gold: Rows, learner: Learner) -> None:
        """Take over what `state` gave; called instead of `start`."""
        vars(self).update(state)


class Labeler(Component):
    """Generation: label X_t. Override `label`."""

    privileged = False  # reads true labels: JT and the oracle controls, not for use on new rows
    long_memory = False  # its rows may be older than t-1 (RECORD's buffer, by its own definition)

    def foresee(self, segments: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Before `start`, and only if privileged: (X_t, true labels) of every segment to come."""

    def label(self, step: Step, learner: Learner) -> Pseudo:
        raise TypeError(f"{type(self).__name__} must define label(step, learner) -> Pseudo")


class Replay(Component):
    """Replay: adapt the learner to the newly labelled segment without forgetting."""

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        """Update the learner in place; returns numbers to log."""
        raise TypeError(f"{type(self).__name__} must define replay(step, pseudo, learner) -> dict")


class Probe:
    """A measurement on the final model after the stream has ended. Override `measure`."""

    def measure(self, stream: "Stream", outcome: "Outcome") -> Measured:
        """Of the final model, by name: numbers, for the table, and curves [points]."""
        raise TypeError(f"{type(self).__name__} must define measure(stream, outcome) -> dict")


@dataclass(frozen=True)
class Method:
    """A method is a composition: generation, replay, the lookback, and the first fit on gold."""

    labeler: Labeler
    replay: Replay
    lookback: Lookback
    pretrain: Training
