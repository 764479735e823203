"""The loop that fills R: for t = 1..T, label X_t, replay, keep the lookback, test on Q_1..Q_T.

R[t, j] = accuracy of the model after step t on the test part Q_j.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from sdsl.core.adaptation import Adaptation
from sdsl.core.checks import check_tensor
from sdsl.core.contract import Method
from sdsl.core.learner import Learner
from sdsl.core.metrics import STEPS, balanced_accuracy, best_relabelling, confusion, reliability
from sdsl.core.rows import Rows
from sdsl.core.scaler import Scaler
from sdsl.core.settings import Positive, settings
from sdsl.core.state import DAMAGED, Checkpoint
from sdsl.core.stream import Stream
from sdsl.errors import ComponentError, UserError

CHUNK = 8192  # test rows that are scaled at a time, to save memory
LONG = 1_000  # segments up to which every row of R is filled under `auto`
FULL_ROWS = 100  # about so many of a longer stream

OnStep = Callable[[int, float], None]  # called after every step with (t, Acc_t so far)


@settings
class EvalConfig:
    """Which rows of R to fill; the diagonal, R[t, t+1], the first and the last row always are."""

    every: Positive | Literal["auto"]  # a full row at every k-th step

    def step(self, T: int) -> int:
        """The number of steps from one full row to the next."""
        if self.every == "auto":
            return 1 if T <= LONG else -(-T // FULL_ROWS)
        return self.every


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
    # [STEPS, 3]: how sure a method with probabilities of its own was, and how often right
    reliability: np.ndarray = field(default_factory=lambda: np.zeros((STEPS, 3)))


def run(
    stream: Stream,
    learner: Learner,
    method: Method,
    evaluation: EvalConfig,
    on_step: OnStep = lambda t, online: None,
    checkpoint: Checkpoint | None = None,
) -> Outcome:
    """Run a method on a stream, from the checkpoint on if that holds a state of this run."""
    adapting = Adaptation(method, learner, stream.gold(), stream.config.scaler, stream.seed)
    tester, curves = Tester(stream, evaluation), Curves(stream.T)
    if checkpoint and (saved := checkpoint.load(stream.T)) is not None:
        try:
            adapting.restore(saved["adapting"])
            tester.restore(saved["tester"])
            curves.restore(saved["curves"], saved["reliability"])
        except (*DAMAGED, ComponentError) as error:
            why = f"{checkpoint.file}: damaged ({error}). Delete it, or set force=true."
            raise UserError(why) from error
    else:
        steps = range(1, stream.T + 1)
        adapting.begin(stream.segment(1), ((stream.segment(t), stream.truth(t)) for t in steps))
        with adapting.clock("eval"), adapting.watched("prediction", learner.classifier):
            tester.fill(0, learner, adapting.scaler)

    def state() -> dict[str, Any]:
        own = {"curves": curves.values, "reliability": curves.reliability}
        return {"adapting": adapting.state(), "tester": tester.state(), **own}

    for t in range(adapting.t + 1, stream.T + 1):
        truth = stream.truth(t)
        pseudo, log = adapting.step(stream.segment(t), truth)
        with adapting.clock("eval"), adapting.watched("prediction", learner.classifier):
            tester.fill(t, learner, adapting.scaler)
            curves.write(t, log)
            if pseudo.y is not None:
                labelled = confusion(pseudo.y.numpy(), truth.numpy(), stream.C)
                curves.score(t, "pseudo_label", labelled)
                curves.write(t, {"pseudo_label_balanced_acc": balanced_accuracy(labelled)})
                if pseudo.p is not None:
                    curves.compare(
                        t, pseudo.p.gather(1, pseudo.y[:, None])[:, 0], pseudo.y == truth
                    )
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
        reliability=curves.reliability,
    )


class Curves:
    """Numbers of every step by name, [T] each; NaN where a step does not report one."""

    def __init__(self, T: int):
        self.T = T
        self.values: dict[str, np.ndarray] = {}
        self.reliability = np.zeros((STEPS, 3))

    def write(self, t: int, log: dict[str, float]) -> None:
        for name, value in log.items():
            curve = self.values.setdefault(name, np.full(self.T, np.nan))
            curve[t - 1] = float(value)

    def restore(self, values: dict[str, np.ndarray], reliability: np.ndarray) -> None:
        if any(curve.shape != (self.T,) for curve in values.values()):
            raise ValueError("curves of another length")
        if reliability.shape != self.reliability.shape:
            raise ValueError("a reliability of another shape")
        self.values.update(values)
        self.reliability = reliability

    def score(self, t: int, name: str, K: np.ndarray) -> None:
        """Accuracy, and accuracy under the best renaming of the classes: a swap shows as a gap."""
        accuracy = float(np.trace(K) / max(1, K.sum()))
        self.write(t, {f"{name}_acc": accuracy, f"{name}_acc_relabelled": best_relabelling(K)})

    def compare(self, t: int, said: Tensor, right: Tensor) -> None:
        """Probabilities that the labels [n] are right, and whether they are."""
        self.write(t, {"estimated_acc": float(said.mean())})
        self.reliability = self.reliability + reliability(said.double().numpy(), right.numpy())


class Tester:
    """Fills R row by row, one batched forward pass over all test parts per row."""

    def __init__(self, stream: Stream, config: EvalConfig):
        self.tests = stream.tests()
        self.sizes = np.array([len(rows) for rows in self.tests])  # [T]
        self.T, self.every = stream.T, config.step(stream.T)
        self.R = np.full((self.T + 1, self.T), np.nan)
        # Confusion counts [T, C, C] of the newest row of R, 0 where a cell was left out.
        self.counts = np.zeros((self.T, stream.C, stream.C), dtype=np.int64)
        self.diagonal = np.zeros_like(self.counts)  # those on Q_t after step t, at t - 1
        self.model: list[Any] = []  # the one that `counts` belong to

    def state(self) -> dict[str, np.ndarray]:
        return {"R": self.R, "counts": self.counts, "diagonal": self.diagonal}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        own = self.state()
        if any(state[k].shape != own[k].shape or state[k].dtype != own[k].dtype for k in own):
            raise ValueError("R or counts of another shape")
        self.R, self.counts, self.diagonal = (state[k] for k in own)

    def fill(self, t: int, learner: Learner, scaler: Scaler) -> None:
        """Row t of R."""
        full = t % self.every == 0 or t == self.T
        near = [j for j in (t - 1, t) if 0 <= j < self.T]  # R[t, t] and R[t, t + 1]
        columns = np.arange(self.T) if full else np.array(near)
        model = [learner.classifier, scaler, *learner.theta]
        if not (self.model and all(map(_same, model, self.model))):
            self.counts = np.zeros_like(self.counts)
            self.model = [learner.classifier, scaler, *learner.copy()]
        new = columns[~self.counts[columns].any((1, 2))]  # ST: one forward pass serves every row
        if len(new):
            rows = Rows.cat(*(self.tests[j] for j in new))
            predicted = torch.cat([learner.predict(scaler(x)) for x in rows.X.split(CHUNK)])
            classes = self.counts.shape[1]
            check_tensor(learner.classifier or learner, "labels", predicted, (len(rows),), classes)
            labels = predicted.numpy(), rows.y.numpy()
            self.counts[new] = confusion(*labels, classes, self.sizes[new])
        right = self.counts[columns].diagonal(axis1=1, axis2=2).sum(1)
        self.R[t, columns] = right / self.sizes[columns]
        if t:
            self.diagonal[t - 1] = self.counts[t - 1]

    def online(self, t: int) -> float:
        """Acc_t so far."""
        return float(np.diagonal(self.R[1:])[:t].mean())


def _same(part: Any, before: Any) -> bool:
    return part is before or (isinstance(part, Tensor) and torch.equal(part, before))
