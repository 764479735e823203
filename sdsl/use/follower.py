"""One model on its way along a stream without labels: the engine's step, and a record of each.

The first fit takes its scale from gold and the first segment, as in an evaluation, so it waits for
that segment. Predictions asked for before come from a second model, fitted to gold alone and then
forgotten: asking never changes later labels.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sdsl.config import parts
from sdsl.core.adaptation import Adaptation
from sdsl.core.contract import Log
from sdsl.core.draws import Draws
from sdsl.core.finite import NotFinite
from sdsl.core.learner import Learner
from sdsl.core.network import graph, layer_sizes
from sdsl.core.rows import Rows
from sdsl.datasets.columns import Plan
from sdsl.errors import UserError
from sdsl.experiment import one_thread
from sdsl.use.monitor import FAR, Monitor

SECTIONS = ("method", "labeler", "replay", "lookback", "learner", "stream")  # of a config
# The first columns of the history; then class shares and what the method logs.
RECORD = ("step", "rows", "seconds", "warnings", "confidence", "drift", "far", "valley")
CHUNK = 10_000  # rows asked for at a time
ARRAYS = Plan([], [], "")  # rows come as arrays, not as tables
Ask = Callable[[Tensor], Tensor]
log = logging.getLogger(__name__)


class Follower:
    """Classes are numbers 0..C-1 here; `labels` are the user's."""

    def __init__(
        self,
        config: Mapping[str, Any],
        X: np.ndarray,  # gold [g, d] float32
        y: np.ndarray,  # [g] in 0..C-1
        labels: np.ndarray,  # [C]
        seed: int,
        columns: Plan = ARRAYS,  # from a table to X
    ):
        self.config = {name: config[name] for name in SECTIONS}
        self.gold = Rows(tensor(X), torch.from_numpy(y.astype(np.int64)))
        self.labels, self.seed, self.columns = labels, seed, columns
        self.adaptation = self._new()
        self.preview: Adaptation | None = None  # answers before the first step
        self.monitor = Monitor(X, y, list(map(str, labels)))
        self.records: list[dict[str, Any]] = []

    def _new(self) -> Adaptation:
        made, name = parts(self.config), self.config["method"]["name"]
        if made.method.labeler.privileged:
            why = f"method={name} reads true labels, which a stream without labels does not have"
            raise UserError(f"{why}. Choose another, such as method=ours.")
        sizes = layer_sizes(self.gold.X.shape[1], made.hidden, len(self.labels))
        learner = Learner(sizes, Draws(self.seed, "init"))
        return Adaptation(made.method, learner, self.gold, made.scaler, self.seed)

    def step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(classes [n], confidence [n]) of a new segment [n, d] float32; the model is updated.

        A segment that would leave NaN in the model is refused, and the model stays as it was.
        """
        start, y, confidence = time.perf_counter(), np.zeros(0, np.int64), np.zeros(0)
        record: dict[str, Any] = {"rows": len(X), "warnings": "empty segment"}
        if len(X):
            y, p, logged = self._learn(X)
            confidence = p[np.arange(len(y)), y]
            signs, alarms = self.monitor.judge(X, y)
            record |= {"warnings": "; ".join(alarms), "confidence": float(confidence.mean())}
            record = {name: float(value) for name, value in logged.items()} | record | signs
        record |= {"step": self.adaptation.t, "seconds": time.perf_counter() - start}
        self.records.append(record)
        if record["warnings"]:
            log.warning("step %d: %s", record["step"], record["warnings"])
        return y, confidence

    def _learn(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, Log]:
        """(classes [n], probabilities [n, C], log)"""
        before = self.adaptation.state() if self.adaptation.t else None
        try:
            with one_thread():
                if before is None:
                    self.adaptation.begin(tensor(X))
                pseudo, logged = self.adaptation.step(tensor(X))
                with self.adaptation.watched("prediction"):
                    y = self.predict(X) if pseudo.y is None else pseudo.y.numpy()
                    p = self.probabilities(X)
                    if not np.isfinite(p).all():
                        raise NotFinite("the model's probabilities are no numbers (NaN)")
            return y, p, logged
        except NotFinite as error:
            self.adaptation = self._new()
            if before is not None:
                self.adaptation.restore(before)
            why = f"The model cannot follow this segment of {len(X)} rows and stays as it was."
            raise NotFinite(f"{why} {error}") from None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Classes [n] by the model as it is now."""
        return self._ask(X, lambda learner: learner.predict)

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """[n, C]: w p + (1 - w) / C with w = min(1, (2 / farness)^2), p those of the model.

        A classifier that gives labels only (1-NN) is certain of them.
        """

        def asked(learner: Learner) -> Ask:
            if learner.classifier is None:  # in double precision, so that no batch size matters
                theta = [p.double() for p in learner.theta]
                return lambda x: graph(x.double(), theta).softmax(1)
            one_hot = torch.eye(learner.classes)
            certain = lambda x: one_hot[learner.predict(x)]  # noqa: E731
            return getattr(learner.classifier, "probabilities", certain)

        p = self._ask(X, asked)
        w = np.minimum(1.0, (FAR / np.maximum(self.monitor.farness(X), FAR)) ** 2)[:, None]
        return w * p + (1 - w) / p.shape[1]

    def _ask(self, X: np.ndarray, question: Callable[[Learner], Ask]) -> np.ndarray:
        """The answers to all rows, some at a time; before the first step by gold alone."""
        with one_thread():
            model = self.adaptation if self.adaptation.t else self._preview()
            ask = question(model.learner)
            return torch.cat([ask(model.scaler(x)) for x in tensor(X).split(CHUNK)]).numpy()

    def _preview(self) -> Adaptation:
        if self.preview is None:
            self.preview = self._new()
            self.preview.begin(self.gold.X)
        return self.preview

    def state(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "config": self.config,
            "labels": {"object": self.labels.tolist(), "dtype": self.labels.dtype.str},
            "seed": self.seed,
            "columns": self.columns.plain(),
            "gold": vars(self.gold),
            "adaptation": self.adaptation.state() if self.adaptation.t else None,
            "monitor": self.monitor.state(),
            "records": list(self.records),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Follower":
        """The follower that `state` was taken from; it goes on bit for bit."""
        X, y = (state["gold"][name].numpy() for name in ("X", "y"))
        labels, columns = np.array(**state["labels"]), Plan.from_plain(state["columns"])
        made = cls(state["config"], X, y, labels, state["seed"], columns)
        if state["adaptation"] is not None:
            made.adaptation.restore(state["adaptation"])
        made.monitor.restore(state["monitor"])
        made.records = state["records"]
        return made

    def __reduce__(self) -> tuple[Any, ...]:  # for copies and process pools
        return Follower.from_state, (self.state(),)


def tensor(X: np.ndarray) -> Tensor:
    """[n, d] float32, contiguous: last bits may hang on the layout."""
    return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))
