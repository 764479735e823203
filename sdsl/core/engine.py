"""The loop that fills R: for t = 1..T, label X_t, replay, keep the lookback, test on Q_1..Q_T."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdsl.core.adaptation import Adaptation
from sdsl.core.checkpoint import Checkpoint
from sdsl.core.contract import Method
from sdsl.core.evaluation import EvalConfig, Tester
from sdsl.core.learner import Learner
from sdsl.core.metrics import balanced_accuracy, best_relabelling, confusion
from sdsl.core.scaler import Scaler
from sdsl.core.stream import Stream

OnStep = Callable[[int, float], None]  # called after every step with (t, Acc_t so far)


@dataclass
class Outcome:
    """The result of one run."""

    R: np.ndarray  # [T + 1, T], row 0 is the model that saw gold only
    curves: dict[str, np.ndarray]  # name -> [T]
    seconds: dict[str, float]
    learner: Learner
    scaler: Scaler
    confusion: np.ndarray  # [T, C, C]: counts on Q_t after step t, see core/metrics
    final_confusion: np.ndarray  # [T, C, C]: on every Q_j after step T


def run(
    stream: Stream,
    learner: Learner,
    method: Method,
    evaluation: EvalConfig,
    on_step: OnStep = lambda t, online: None,
    checkpoint: Checkpoint | None = None,
) -> Outcome:
    """One stream, one method, one seed; from the checkpoint on, if it holds one of this run."""
    adapting = Adaptation(method, learner, stream.gold(), stream.config.scaler, stream.seed)
    tester, curves = Tester(stream, evaluation), Curves(stream.T)
    if checkpoint and (saved := checkpoint.load(stream.T)) is not None:
        adapting.restore(saved["adapting"])
        tester.restore(saved["tester"])
        curves.values.update(saved["curves"])
    else:
        steps = range(1, stream.T + 1)
        adapting.begin(stream.segment(1), ((stream.segment(t), stream.truth(t)) for t in steps))
        with adapting.clock("eval"), adapting.watched("prediction"):
            tester.fill(0, learner, adapting.scaler)

    def state() -> dict[str, Any]:
        return {"adapting": adapting.state(), "tester": tester.state(), "curves": curves.values}

    for t in range(adapting.t + 1, stream.T + 1):
        truth = stream.truth(t)
        pseudo, log = adapting.step(stream.segment(t), truth)
        with adapting.clock("eval"), adapting.watched("prediction"):
            tester.fill(t, learner, adapting.scaler)
            curves.write(t, log)
            if pseudo.y is not None:
                labelled = confusion(pseudo.y.numpy(), truth.numpy(), stream.C)
                curves.score(t, "pseudo_label", labelled)
                curves.write(t, {"pseudo_label_balanced_acc": balanced_accuracy(labelled)})
            curves.score(t, "test", tester.diagonal[t - 1])
        on_step(t, tester.online(t))
        if checkpoint:
            checkpoint.keep(state)
    return Outcome(
        R=tester.R,
        curves=curves.values,
        seconds=dict(adapting.seconds),
        learner=learner,
        scaler=adapting.scaler,
        confusion=tester.diagonal,
        final_confusion=tester.counts,
    )


class Curves:
    """Numbers of every step by name, [T] each; NaN where a step does not report one."""

    def __init__(self, T: int):
        self.T = T
        self.values: dict[str, np.ndarray] = {}

    def write(self, t: int, log: dict[str, float]) -> None:
        for name, value in log.items():
            curve = self.values.setdefault(name, np.full(self.T, np.nan))
            curve[t - 1] = float(value)

    def score(self, t: int, name: str, K: np.ndarray) -> None:
        """Accuracy, and accuracy under the best renaming of the classes: a swap shows as a gap."""
        accuracy = float(np.trace(K) / max(1, K.sum()))
        self.write(t, {f"{name}_acc": accuracy, f"{name}_acc_relabelled": best_relabelling(K)})
