"""The loop that fills R: for t = 1..T, label X_t, replay, keep the lookback, test on Q_1..Q_T."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sdsl.core.adaptation import Adaptation
from sdsl.core.checkpoint import Held, NoCheckpoint
from sdsl.core.confusion import balanced_accuracy, counted
from sdsl.core.contract import Method
from sdsl.core.evaluation import EvalConfig, Tester
from sdsl.core.learner import Learner
from sdsl.core.metrics import best_relabelling
from sdsl.core.scaler import Scaler
from sdsl.core.stream import Stream
from sdsl.core.thin import Thin

NO_CHECKPOINT = NoCheckpoint()
OnStep = Callable[[int, float], None]  # called after every step with (t, Acc_t so far)


@dataclass
class Outcome:
    """What a run of S replicas leaves behind."""

    R: np.ndarray | Thin  # [S, T + 1, T]
    curves: dict[str, np.ndarray]  # name -> [S, T]
    seconds: dict[str, float]
    learner: Learner
    scaler: Scaler
    confusion: np.ndarray  # [S, T, C, C]: counts on Q_t after step t, see core/confusion
    final_confusion: np.ndarray  # [S, T, C, C]: on every Q_j after step T
    R_context: np.ndarray | Thin | None = None  # the same in context, where asked for and offered


def run(
    stream: Stream,
    learner: Learner,
    method: Method,
    evaluation: EvalConfig,
    on_step: OnStep = lambda t, online: None,
    checkpoint: NoCheckpoint = NO_CHECKPOINT,
) -> Outcome:
    """One stream, one method, S seeds; from the checkpoint on, if it holds one of this run."""
    tester, log = Tester(stream, evaluation), Log(len(stream.seeds), stream.T)
    if (held := checkpoint.load(stream.T)) is not None:
        adapting = held["adapting"]
        tester.resume(held["tester"])
        log.curves.update(held["curves"])
    else:
        adapting = Adaptation(method, learner, stream.gold(), stream.config.scaler, stream.seeds)
        every = range(1, stream.T + 1)
        adapting.begin(stream.segment(1), ((stream.segment(t), stream.truth(t)) for t in every))
        with adapting.clock("eval"), adapting.watched("prediction"):
            tester.fill(0, learner, adapting.scaler)
    learner, clock = adapting.learner, adapting.clock

    def between_steps() -> Held:
        return {"adapting": adapting, "tester": tester.held(), "curves": dict(log.curves)}

    for t in range(adapting.t + 1, stream.T + 1):
        truth = stream.truth(t)
        pseudo, logged = adapting.step(stream.segment(t), truth)
        with clock("eval"), adapting.watched("prediction"):
            tester.fill(t, learner, adapting.scaler)
            log.write(t, logged)
            if pseudo.y is not None:
                labelled = counted(pseudo.y, truth, stream.C)
                log.score(t, "pseudo_label", labelled)
                balanced = torch.from_numpy(balanced_accuracy(labelled.numpy()))
                log.write(t, {"pseudo_label_balanced_acc": balanced})
            log.score(t, "test", tester.diagonal[:, t - 1])
        on_step(t, tester.online(t))
        checkpoint.keep(t, between_steps)
    left = log.curves, clock.seconds, learner, adapting.scaler
    confusion = tester.diagonal.numpy(), tester.counts.numpy()
    return Outcome(tester.R, *left, *confusion, tester.R_context)


class Log:
    """Per-step numbers of S replicas; what a step does not report is NaN."""

    def __init__(self, S: int, T: int):
        self.curves: dict[str, np.ndarray] = defaultdict(lambda: np.full((S, T), np.nan))

    def write(self, t: int, values: dict[str, Tensor]) -> None:
        for name, value in values.items():
            self.curves[name][:, t - 1] = torch.as_tensor(value).detach().double().numpy()

    def score(self, t: int, name: str, counts: Tensor) -> None:
        """Accuracy, and accuracy under the best renaming of the classes: a swap shows as a gap."""
        K = counts.numpy()  # [S, C, C]
        right = np.trace(K, axis1=1, axis2=2)
        self.curves[f"{name}_acc"][:, t - 1] = right / np.maximum(1, K.sum((1, 2)))
        self.curves[f"{name}_acc_relabelled"][:, t - 1] = [best_relabelling(k)[0] for k in K]
