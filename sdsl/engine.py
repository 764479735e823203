"""The loop that fills R: for t = 1..T: label X_t, replay, keep the lookback, test on Q_1..Q_T."""

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sdsl.component import number
from sdsl.contract import Labeler, Replay, Step
from sdsl.learner import Learner, Training
from sdsl.lookback import Lookback
from sdsl.metrics import best_relabelling
from sdsl.replica import Draws, Rows
from sdsl.stream import Scaler, Stream

CHUNK = 512  # test rows a forward pass: activations stay in cache; fixed, so bits do not hang on S


@dataclass
class EvalConfig:
    """Which cells of R to fill; the diagonal and R[t, t+1] always are."""

    every: int = number(1, low=1)  # a full row of R at every k-th step (and the last)
    columns: int | None = number(None, low=1)  # at most this many columns in it, evenly spread


@dataclass
class Outcome:
    """What a run of S replicas leaves behind."""

    R: np.ndarray  # [S, T + 1, T]
    curves: dict[str, np.ndarray]  # name -> [S, T]
    seconds: dict[str, float]
    learner: Learner
    scaler: Scaler


def run(
    stream: Stream,
    learner: Learner,
    labeler: Labeler,
    replay: Replay,
    lookback: Lookback,
    pretrain: Training,
    evaluation: EvalConfig,
    on_step: Callable[[int, float], None] = lambda t, online: None,
) -> Outcome:
    """One stream, one method, S seeds. on_step(t, running Acc_t) is called after every step."""
    draws = Draws(stream.seeds, "batches")
    clock, log = Clock(), Log(len(stream.seeds), stream.T)
    scaler = first_scaler(stream)
    with clock("train"):
        gold = scaled(scaler, stream.gold())
        learner.fit(pretrain, [gold], draws)
        if labeler.privileged:
            parts = ((scaler(stream.segment(t)), stream.truth(t)) for t in range(1, stream.T + 1))
            labeler.foresee(parts)
        labeler.start(gold, learner, draws)
        replay.start(gold, learner, draws)
    tester = Tester(stream, evaluation)
    memory = Rows.empty_like(gold.X)
    with clock("eval"):
        tester.fill(0, learner, scaler)
    for t in range(1, stream.T + 1):
        if stream.config.scaler == "per_step":
            raw = Rows(scaler.undo(memory.X), memory.y, memory.count)
            stored = raw if t > 1 else stream.gold()
            real = [stored.replica(s)[0] for s in range(len(stream.seeds))]  # padding has no say
            scaler = Scaler.fit(stream.segment(t), real)
            gold, memory = scaled(scaler, stream.gold()), scaled(scaler, raw)
        truth = stream.truth(t)
        step = Step(
            t,
            gold,
            memory,
            scaler(stream.segment(t)),
            learner.copy(),
            draws,
            truth if labeler.privileged else None,
        )
        with clock("label"):
            pseudo = labeler.label(step, learner)
        with clock("train"):
            logged = pseudo.log | (replay.replay(step, pseudo, learner) or {})
            memory = lookback.keep(pseudo.rows, learner, draws)
        with clock("eval"):
            tester.fill(t, learner, scaler)
            log.write(t, logged)
            if pseudo.y is not None:
                log.score(t, "pseudo_label", pseudo.y, truth, stream.C)
            log.score(t, "test", *tester.diagonal(t, learner, scaler), stream.C)
        on_step(t, float(np.mean([np.diagonal(r[1:])[:t].mean() for r in tester.R])))
    return Outcome(tester.R, log.curves, clock.seconds, learner, scaler)


def first_scaler(stream: Stream) -> Scaler:
    """Fitted on D and X_1, then frozen (or refitted each step, by the loop); or none at all."""
    if stream.config.scaler == "none":
        return Scaler.identity(stream.gold().X)
    gold = stream.gold()
    # Padding of a ragged gold set repeats its first row, so that it cannot shift the mean by much.
    X = torch.where(gold.mask[:, :, None], gold.X, gold.X[:, :1])
    return Scaler.fit(X, stream.segment(1))


def scaled(scaler: Scaler, rows: Rows) -> Rows:
    return Rows(scaler(rows.X), rows.y, rows.count)


class Tester:
    """Fills R row by row, one batched forward over all test parts a row."""

    def __init__(self, stream: Stream, config: EvalConfig):
        self.X, self.y = stream.tests()  # [S, T, q, d], [S, T, q]
        self.config, self.T = config, stream.T
        self.R = np.full((len(self.X), stream.T + 1, stream.T), np.nan)
        wide = np.linspace(0, self.T - 1, min(config.columns or self.T, self.T)).round().astype(int)
        self.columns = np.unique(wide)
        self.last: tuple[list[Tensor], Callable | None, Scaler, int] | None = None

    def fill(self, t: int, learner: Learner, scaler: Scaler) -> None:
        full = t % self.config.every == 0 or t == self.T
        near = [j for j in (t - 1, t) if 0 <= j < self.T]  # R[t, t] and R[t, t+1]
        columns = np.union1d(self.columns, near).astype(int) if full else np.array(near, int)
        # A model that did not move (ST) keeps its row.
        if self.last and self.last[2] is scaler and unmoved(learner, *self.last[:2]):
            known = self.R[:, self.last[3]]
            columns = columns[np.isnan(known[0, columns])]
            self.R[:, t] = known
        if len(columns):
            self.R[:, t, columns] = self.accuracy(columns, learner, scaler)
        if full:
            self.last = (learner.copy(), learner.classifier, scaler, t)

    def accuracy(self, columns: np.ndarray, learner: Learner, scaler: Scaler) -> np.ndarray:
        """[S, len(columns)]"""
        index = torch.as_tensor(columns)
        whole = len(columns) == self.T
        X = (self.X if whole else self.X[:, index]).flatten(1, 2)
        y = (self.y if whole else self.y[:, index]).flatten(1, 2)
        hit = [
            learner.predict(scaler(x)) == y_
            for x, y_ in zip(X.split(CHUNK, 1), y.split(CHUNK, 1), strict=True)
        ]
        right = torch.cat(hit, 1).view(len(X), len(columns), -1).sum(2)  # counts, exact
        return right.double().div(self.y.shape[2]).numpy()

    def diagonal(self, t: int, learner: Learner, scaler: Scaler) -> tuple[Tensor, Tensor]:
        """(predictions, truth) on Q_t, [S, q] each."""
        return learner.predict(scaler(self.X[:, t - 1])), self.y[:, t - 1]


def unmoved(learner: Learner, theta: list[Tensor], classifier: Callable | None) -> bool:
    if learner.classifier is not classifier:
        return False
    return all(torch.equal(x, y) for x, y in zip(learner.theta, theta, strict=True))


class Log:
    """Per-step numbers of S replicas; what a step does not report is NaN."""

    def __init__(self, S: int, T: int):
        self.curves: dict[str, np.ndarray] = defaultdict(lambda: np.full((S, T), np.nan))

    def write(self, t: int, values: dict[str, Tensor]) -> None:
        for name, value in values.items():
            self.curves[name][:, t - 1] = torch.as_tensor(value).detach().double().numpy()

    def score(self, t: int, name: str, y: Tensor, truth: Tensor, C: int) -> None:
        """Accuracy, and accuracy under the best renaming of the classes: a swap shows as a gap."""
        self.write(t, {f"{name}_acc": (y == truth).double().mean(1)})
        for s, (a, b) in enumerate(zip(y.numpy(), truth.numpy(), strict=True)):
            self.curves[f"{name}_acc_relabelled"][s, t - 1] = best_relabelling(a, b, C)[0]


class Clock:
    """Wall time by part of the loop."""

    def __init__(self):
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, part: str):
        start = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - start
