"""One model on its way along a stream without labels: the engine's step, and what it reports.

The first fit takes its scale from gold and the first segment, as in an evaluation, so it waits for
that segment. Predictions asked for before are made by a second model, fitted to gold alone, which
is then forgotten: asking never changes what comes later.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sdsl.algorithms.trust import Trust
from sdsl.config.registry import own_modules
from sdsl.core import state
from sdsl.core.adaptation import Adaptation
from sdsl.core.contract import Step
from sdsl.core.evaluation import CHUNK
from sdsl.core.finite import NotFinite
from sdsl.core.learner import Learner
from sdsl.core.network import layer_sizes
from sdsl.core.replica import Rows
from sdsl.core.room import refuse_large_network
from sdsl.experiment import one_thread
from sdsl.use.alarms import FAR, Signs, alarms
from sdsl.use.history import Record
from sdsl.use.method_config import method_setup
from sdsl.use.summary import Summary, farness, nearest_pair, valley

log = logging.getLogger(__name__)
TRUST = Trust(overlap=1.0, agreement=1.0)


class Following:
    """Labels are numbers 0..C-1 here; `classes` are their names, for messages."""

    def __init__(
        self,
        config: Mapping[str, Any],
        X: np.ndarray,  # gold [g, d] float32
        y: np.ndarray,  # [g]
        classes: Sequence[str],
        seed: int,
    ):
        self.config, self.classes, self.seed = dict(config), list(classes), seed
        self.raw_gold = Rows.full(rows(X), torch.from_numpy(y.astype(np.int64))[None])
        self.adapting = self._new()
        self.gold = self.last = Summary.of(X, y, len(classes), None)
        self.records: list[Record] = []
        self.far_waiting = 0  # far rows asked for before the first step
        self.preview: Adaptation | None = None

    def _new(self) -> Adaptation:
        setup = method_setup(self.config)
        sizes = layer_sizes(self.raw_gold.X.shape[2], setup.hidden, len(self.classes))
        refuse_large_network(sizes, 1)
        learner = Learner(sizes, [self.seed])
        return Adaptation(setup.method, learner, self.raw_gold, setup.stream.scaler, [self.seed])

    @property
    def steps(self) -> int:
        return self.adapting.t

    def step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(labels [n], confidence [n]) of a new segment [n, d] float32; the model is updated.

        A segment that would leave it with NaN is refused, and the model stays as it was.
        """
        modules = own_modules(self.config)
        before = state.dump(self.adapting, modules)
        try:
            return self._step(X)
        except NotFinite as error:
            self.adapting = state.restore(*before, modules)
            raise NotFinite(
                f"The model cannot follow this segment of {len(X)} rows and stays as it was. "
                f"{error}"
            ) from None

    def _step(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        start = time.perf_counter()
        if not len(X):
            self._note_empty()
            return np.zeros(0, np.int64), np.zeros(0)
        with one_thread():
            if not self.adapting.t:
                self.adapting.begin(rows(X))
                self.preview = None
            pseudo, logged = self.adapting.step(rows(X))
            with self.adapting.watched("prediction"):
                y = self._labels(X) if pseudo.y is None else pseudo.y[0].numpy()
                far = farness(X, self.gold, self.last)
                p = flattened(self._model_probabilities(X), far)
                if not np.isfinite(p).all():
                    raise NotFinite("the model's probabilities are no numbers (NaN)")
            trust = self._trust(X, pseudo.rows)
        confidence = p[np.arange(len(y)), y]
        record = Record(
            step=self.adapting.t,
            rows=len(X),
            gold_trust=trust,
            gold_weight=number(logged.get("gold_trust")),
            shares=(np.bincount(y, minlength=len(self.classes)) / len(y)).tolist(),
            confidence=float(confidence.mean()),
            rounds=number(logged.get("rounds")),
            far=float((far > FAR).mean()),
            far_predicted=self.far_waiting,
        )
        self._judge(record, X, y, far)
        record.seconds, self.far_waiting = time.perf_counter() - start, 0
        self.records.append(record)
        return y, confidence

    def _judge(self, record: Record, X: np.ndarray, y: np.ndarray, far: np.ndarray) -> None:
        """Drift and alarms, and the segment becomes the last one."""
        now = Summary.of(X, y, len(self.classes), self.last)
        record.drift = now.moved(self.last)
        record.valley, a, b = nearest_pair(X, y, now)
        in_gold = self.raw_gold.X[0].numpy(), self.raw_gold.y[0].numpy()
        earlier = [r for r in self.records if r.rows]
        gold_shares = self.gold.count / self.gold.count.sum()
        signs = Signs(
            rows=len(X),
            gold_trust=record.gold_trust,
            shares=np.array(record.shares),
            last_shares=np.array(earlier[-1].shares) if earlier else gold_shares,
            last_rows=earlier[-1].rows if earlier else int(self.gold.count.sum()),
            farness=far,
            valley=record.valley,
            gold_valley=valley(*in_gold, self.gold, a, b),
            pair=(a, b),
        )
        record.warnings = alarms(signs, self.classes)
        for text in record.warnings:
            log.warning("step %d: %s", record.step, text)
        self.last = now

    def _note_empty(self) -> None:
        log.warning("an empty segment after step %d: nothing was labelled or learnt", self.steps)
        shares = [float("nan")] * len(self.classes)
        self.records.append(Record(self.steps, 0, shares, warnings=["empty segment"]))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels [n] by the model of now; far rows are counted in the last record."""
        self._count_far(farness(X, self.gold, self.last))
        with one_thread():
            return self._labels(X)

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """[n, C], flattened for rows far from anything seen."""
        far = farness(X, self.gold, self.last)
        self._count_far(far)
        with one_thread():
            return flattened(self._model_probabilities(X), far)

    def _count_far(self, far: np.ndarray) -> None:
        count = int((far > FAR).sum())
        if count:
            log.warning("%d of %d rows are far from anything seen", count, len(far))
        if self.records:
            self.records[-1].far_predicted += count
        else:
            self.far_waiting += count

    def _current(self) -> Adaptation:
        """The model to ask: before the first step, one fitted to gold alone."""
        if self.adapting.t:
            return self.adapting
        if self.preview is None:
            self.preview = self._new()
            self.preview.begin(self.raw_gold.X)
        return self.preview

    def _labels(self, X: np.ndarray) -> np.ndarray:
        model = self._current()
        parts = [model.learner.predict(model.scaler(x)) for x in rows(X).split(CHUNK, 1)]
        return torch.cat(parts, 1)[0].numpy()

    def _model_probabilities(self, X: np.ndarray) -> np.ndarray:
        """[n, C]. A classifier that gives labels only (1-NN) is as sure as it can be of them."""
        model = self._current()
        if model.learner.classifier is not None:
            ask = getattr(model.learner.classifier, "probabilities", None)
            if ask is None:
                return np.eye(len(self.classes))[self._labels(X)]
        else:
            ask = model.learner.probabilities
        parts = [ask(model.scaler(x)) for x in rows(X).split(CHUNK, 1)]
        p = torch.cat(parts, 1)[0].double().numpy()
        return p / p.sum(1, keepdims=True)

    def _trust(self, X: np.ndarray, labelled: Rows) -> float:
        """How far gold still holds for this segment and the rows just kept; draws nothing.

        A method that keeps no rows is judged by those that it has just labelled.
        """
        a = self.adapting
        kept = a.lookback if a.lookback.X.shape[1] else labelled
        step = Step(a.t, a.gold, kept, a.scaler(rows(X)), [], a.draws)
        return float(TRUST(step, len(self.classes))[0])

    def plain(self) -> dict[str, Any]:
        """All of it, for core/state.py."""
        return {
            "config": self.config,
            "classes": self.classes,
            "seed": self.seed,
            "adapting": self.adapting,
            "gold": self.gold.plain(),
            "last": self.last.plain(),
            "records": [asdict(record) for record in self.records],
            "far_waiting": self.far_waiting,
        }

    @classmethod
    def from_plain(cls, held: Mapping[str, Any]) -> "Following":
        """What `plain` gave, once restored."""
        made = cls.__new__(cls)
        vars(made).update({name: held[name] for name in held if name not in ("gold", "last")})
        made.raw_gold = made.adapting.raw_gold
        made.gold, made.last = Summary(**held["gold"]), Summary(**held["last"])
        made.records = [Record(**record) for record in held["records"]]
        made.preview = None
        return made

    def __getstate__(self) -> dict[str, Any]:
        """For copies and process pools, which ask for it: the same plain data as in a file."""
        tensors, tree = state.dump(self.plain(), own_modules(self.config))
        return {"tensors": {k: t.numpy() for k, t in tensors.items()}, "tree": tree}

    def __setstate__(self, held: dict[str, Any]) -> None:
        tensors = {k: torch.from_numpy(t.copy()) for k, t in held["tensors"].items()}
        plain = state.restore(tensors, held["tree"], _any_module(held["tree"]))
        vars(self).update(vars(type(self).from_plain(plain)))


def _any_module(tree: state.Tree) -> list[str]:
    """A copy within Python may hold any class: whoever unpickles trusts the data already."""
    return [entry["module"] for entry in tree["objects"] if "module" in entry]


def rows(X: np.ndarray) -> Tensor:
    """[n, d] to [1, n, d]: one replica."""
    return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))[None]


def number(value: Tensor | None) -> float:
    return float("nan") if value is None else float(value[0])


def flattened(p: np.ndarray, far: np.ndarray) -> np.ndarray:
    """w p + (1 - w) / C with w = min(1, (2 / farness)^2): the label stays, the certainty goes."""
    w = np.minimum(1.0, (FAR / np.maximum(far, FAR)) ** 2)[:, None]
    return w * p + (1 - w) / p.shape[1]
