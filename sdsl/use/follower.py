"""One model on its way along a stream without labels: the engine's step, a record of each, a file.

The first fit takes its scale from gold and the first segment, as in an evaluation, so it waits for
that segment. Predictions asked for before come from a second model, fitted to gold alone and then
forgotten: asking never changes later labels.

The settings in a file name the classes of the method's parts. Only sdsl's own, scikit-learn's and
those of modules that the reader names are made: a file cannot choose the code that reads it.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sdsl.config import parts
from sdsl.core.adaptation import Adaptation
from sdsl.core.checks import check_tensor
from sdsl.core.contract import Log
from sdsl.core.draws import Draws
from sdsl.core.finite import NotFinite
from sdsl.core.learner import Learner
from sdsl.core.network import graph, layer_sizes
from sdsl.core.rows import Rows, misfit
from sdsl.core.state import DAMAGED, load_state, save_state
from sdsl.datasets.columns import Plan
from sdsl.errors import ComponentError, UserError
from sdsl.experiment import one_thread
from sdsl.labelers.vote import Vote
from sdsl.use.checks import By, Checks
from sdsl.use.monitor import FAR, Moments, Monitor

KIND = "StreamClassifier 3"  # of a file, with its version
TRUSTED = ("sdsl.core", "sdsl.labelers", "sdsl.replays", "sklearn")  # modules and those in them
SECTIONS = ("method", "labeler", "replay", "lookback", "learner", "stream")  # of a config
# The first columns of the history; then class shares and what the method logs.
RECORD = (
    *("step", "rows", "seconds", "note", "warnings"),
    *("estimated_accuracy", "estimated_low", "estimated_high"),
    *("confidence", "drift", "far"),
)
CHUNK = 10_000  # rows asked for at a time
MOST = 100_000  # rows of a segment that the method is given: of a longer one every second, third...
ARRAYS = Plan([], [], "")  # rows come as arrays, not as tables
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
        self.checks, self.learnt = Checks(), 0  # learnt: checked rows at the end of gold

    def _new(self) -> Adaptation:
        made, name = parts(self.config), self.config["method"]["name"]
        if made.method.labeler.privileged:
            why = f"method={name} reads true labels, which a stream without labels does not have"
            raise UserError(f"{why}. Choose another, such as method=ours.")
        sizes = layer_sizes(self.gold.X.shape[1], made.hidden, len(self.labels))
        learner = Learner(sizes, Draws(self.seed, "init"))
        return Adaptation(made.method, learner, self.gold, made.scaler, self.seed)

    def step(
        self, X: np.ndarray, abstain: float = 0.0, ask: int = 0, ask_by: By = "random"
    ) -> tuple[np.ndarray, np.ndarray]:
        """(classes [n], confidence [n]) of a new segment [n, d] float32; the model is updated.

        A segment that would leave NaN in the model is refused, and the model stays as it was. Below
        `abstain` rows count as left out; `ask` rows are drawn to be checked.
        """
        start, y, confidence = time.perf_counter(), np.zeros(0, np.int64), np.zeros(0)
        record: dict[str, Any] = {"rows": len(X), "note": "", "warnings": "empty segment"}
        if len(X):
            seen = X[:: -(-len(X) // MOST)]
            y, p, own, note, logged = self._learn(seen)
            confidence, record["note"] = p[np.arange(len(y)), y], note
            signs, alarms = self.monitor.judge(seen, y, confidence if own else None, self.expected)
            if len(seen) < len(X):
                y, confidence = self.ask(X, cautious=not own)
            if abstain:
                signs["abstained"] = float((confidence < abstain).mean())
            if ask:
                at = self.seed, len(self.records) + 1
                self.checks.draw(at, X, self.labels[y], confidence, ask, ask_by)
            signs |= self.checks.summary()
            alarms += [told] if (told := self.checks.alarm()) else []
            record |= {"warnings": "; ".join(alarms), "confidence": float(confidence.mean())}
            record = {name: float(value) for name, value in logged.items()} | record | signs
        record |= {"step": self.adaptation.t, "seconds": time.perf_counter() - start}
        self.records.append(record)
        if record["warnings"]:
            log.warning("step %d: %s", record["step"], record["warnings"])
        return y, confidence

    def _learn(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool, str, Log]:
        """(classes [n], probabilities [n, C], whether they are the method's own, a note, log)"""
        before = self.adaptation.state() if self.adaptation.t else None
        try:
            with one_thread():
                if before is None:
                    self.adaptation.begin(tensor(X))
                pseudo, logged = self.adaptation.step(tensor(X))
                with self.adaptation.watched("prediction"):
                    y = self.predict(X) if pseudo.y is None else pseudo.y.numpy()
                    own = pseudo.p
                    p = self.probabilities(X) if own is None else own.numpy()
                    if not np.isfinite(p).all():
                        raise NotFinite("the model's probabilities are no numbers (NaN)")
            return y, p, own is not None, pseudo.note, logged
        except UserError as error:
            self.adaptation = self._new()
            if before is not None:
                self.adaptation.restore(before)
            if not isinstance(error, NotFinite):
                raise
            why = f"The model cannot follow this segment of {len(X)} rows and stays as it was."
            raise NotFinite(f"{why} {error}") from None

    def check(self, given: pd.DataFrame, learn: bool = False) -> dict[str, float]:
        """Take late labels; {} before any, else the checked accuracy, which the last record gets.

        learn: the rows join gold and the vote is fitted again. Rows of a class that gold lacks only
        count as wrong.
        """
        vote = self._vote()
        if learn and (vote is None or not self.adaptation.t):
            raise UserError("learn needs a method that votes (steady, vote), and a first segment.")
        rows, answers = self.checks.take(given)
        code = pd.Index(list(map(str, self.labels))).get_indexer(answers)
        if learn and vote is not None and (code >= 0).any():
            self._learn_late(vote, self.checks.X[rows[code >= 0]], code[code >= 0])
        if self.records and len(rows):
            self.records[-1] |= self.checks.summary()
            told = [self.records[-1]["warnings"], self.checks.alarm()]
            self.records[-1]["warnings"] = "; ".join(filter(None, dict.fromkeys(told)))
        return self.checks.summary()

    def _learn_late(self, vote: Vote, X: np.ndarray, y: np.ndarray) -> None:
        """Fit the vote again, to gold with these rows; the tracker goes on as it is."""
        going, new = self.adaptation, Rows(tensor(X), torch.from_numpy(y.astype(np.int64)))
        self.gold, self.learnt = Rows.cat(self.gold, new), self.learnt + len(new)
        going.raw_gold, going.gold = self.gold, going.scaler.rows(self.gold)
        last = self.monitor.last
        self.monitor = Monitor(self.gold.X.numpy(), self.gold.y.numpy(), self.monitor.classes)
        self.monitor.last = last
        moments, decides = vote.moments, going.learner.rule is not None
        with one_thread():
            vote.start(going.gold, going.learner, going.draws)
        vote.moments = moments  # of the last segment
        going.learner.rule = vote.ballot() if decides else None

    @property
    def expected(self) -> float:
        """Gold's cross-validated accuracy; NaN for a method that does not vote."""
        return vote.accuracy if (vote := self._vote()) else float("nan")

    def _vote(self) -> Vote | None:
        """The vote of the method, if it has one that was fitted."""
        labeler = self.adaptation.method.labeler
        vote = getattr(labeler, "vote", labeler)
        return vote if isinstance(vote, Vote) and self.adaptation.t else None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Classes [n] by the model as it is now."""
        y, learner = self._ask(X, Learner.predict), self.adaptation.learner
        check_tensor(learner.classifier, "labels", torch.from_numpy(y), (len(X),), len(self.labels))
        return y

    def ask(self, X: np.ndarray, cautious: bool) -> tuple[np.ndarray, np.ndarray]:
        """(classes [n], confidence [n]) by the model as it is now, in memory that X sets."""
        y, confidence = np.zeros(len(X), np.int64), np.zeros(len(X))
        for rows in np.array_split(np.arange(len(X)), len(X) // CHUNK + 1):
            p = self._ask(X[rows], probabilities)
            y[rows] = p.argmax(1)
            p = self._cautious(p, X[rows]) if cautious else p
            confidence[rows] = p[np.arange(len(rows)), y[rows]]
        return y, confidence

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """[n, C] by the model as it is now."""
        return self._cautious(self._ask(X, probabilities), X)

    def _cautious(self, p: np.ndarray, X: np.ndarray) -> np.ndarray:
        """[n, C]: w p + (1 - w) / C with w = min(1, (2 / farness)^2)."""
        w = np.minimum(1.0, (FAR / np.maximum(self.monitor.farness(X), FAR)) ** 2)[:, None]
        return w * p + (1 - w) / p.shape[1]

    def _ask(self, X: np.ndarray, ask: Callable[[Learner, Tensor], Tensor]) -> np.ndarray:
        """The answers to all rows, some at a time; before the first step by gold alone."""
        with one_thread():
            model = self.adaptation if self.adaptation.t else self._preview()
            parts = [model.scaler(x) for x in tensor(X).split(CHUNK)]
            with model.watched("prediction", model.learner.classifier):
                return torch.cat([ask(model.learner, x) for x in parts]).numpy()

    def _preview(self) -> Adaptation:
        if self.preview is None:
            self.preview = self._new()
            self.preview.begin(self.gold.X)
        return self.preview

    def history(self) -> pd.DataFrame:
        """One row per segment; the columns are explained in sdsl/use/README.md."""
        shares = [f"share_{name}" for name in self.monitor.classes]
        names = dict.fromkeys([*RECORD, *shares, *(name for one in self.records for name in one)])
        return pd.DataFrame(self.records, columns=list(names))

    def save(self, path: str | Path, **more: Any) -> None:
        """Write one file, whole or not at all; `more` is plain data."""
        save_state(path, {"kind": KIND, "follower": self.state(), **more})

    def state(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "config": self.config,
            "labels": {"object": self.labels.tolist(), "dtype": self.labels.dtype.str},
            "seed": self.seed,
            "columns": self.columns.plain(),
            "gold": vars(self.gold),
            "adaptation": self.adaptation.state() if self.adaptation.t else None,
            "monitor": vars(self.monitor.last),
            "records": list(self.records),
            "checks": self.checks.state(),
            "learnt": self.learnt,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Follower":
        """The follower that `state` was taken from; it goes on bit for bit."""
        X, y = (state["gold"][name].numpy() for name in ("X", "y"))
        labels, columns = np.array(**state["labels"]), Plan.from_plain(state["columns"])
        made = cls(state["config"], X, y, labels, state["seed"], columns)
        if state["adaptation"] is not None:
            made.adaptation.restore(state["adaptation"])
        gold, shapes = made.monitor.gold, {k: np.shape(v) for k, v in state["monitor"].items()}
        if found := misfit(Rows(**state["gold"]), X.shape[1], len(labels)):
            raise ValueError(found)
        if shapes != {name: np.shape(value) for name, value in vars(gold).items()}:
            raise ValueError(f"moments of shapes {shapes}")
        made.monitor.last = Moments(**state["monitor"])
        made.records, made.learnt = state["records"], state["learnt"]
        made.checks = Checks(**state["checks"])
        return made

    def __reduce__(self) -> tuple[Any, ...]:  # for copies and process pools
        return Follower.from_state, (self.state(),)


@contextmanager
def loaded(path: str | Path, modules: Sequence[str] = ()) -> Iterator[tuple[Follower, Any]]:
    """(the follower of a file, all that the file holds); errors inside refuse the file."""
    state = load_state(path)
    if not isinstance(state, Mapping) or state.get("kind") != KIND:
        raise UserError(f"{path}: not the file of a {KIND}, as this version of sdsl writes it.")
    try:
        for module in foreign(state["follower"]["config"], (*TRUSTED, *modules)):
            raise UserError(
                f"{path} names a class of the module {module}, which is not one of sdsl's. If you "
                f"trust it, name it: modules=['{module}']."
            )
        yield Follower.from_state(state["follower"]), state
    except (*DAMAGED, ComponentError) as error:
        raise UserError(f"{path}: damaged ({type(error).__name__}: {error}).") from None


def foreign(config: Mapping[str, Any], trusted: Sequence[str] = TRUSTED) -> list[str]:
    """The modules of a config's classes that are not among the trusted ones or in them."""

    def inside(module: str) -> bool:
        return any(f"{module}.".startswith(f"{parent}.") for parent in trusted)

    modules = set()
    for target in re.findall(r'"_target_": "([^"]*)"', json.dumps(config)):
        module = target.rpartition(".")[0]
        if inside(module):  # perhaps the class is only imported there
            if not isinstance(found := resolve_name(target), type):
                raise ValueError(f"{target} is no class")
            module = found.__module__
        modules.add(module)
    return sorted(module for module in modules if not inside(module))


def probabilities(learner: Learner, x: Tensor) -> Tensor:
    """[n, C]; a classifier that gives labels only (1-NN) is certain of them."""
    if learner.classifier is None:  # in double precision, so that no batch size matters
        return graph(x.double(), [p.double() for p in learner.theta]).softmax(1)
    if own := getattr(learner.classifier, "probabilities", None):
        return own(x)
    return torch.eye(learner.classes)[learner.predict(x)]


def tensor(X: np.ndarray) -> Tensor:
    """[n, d] float32, contiguous: last bits may hang on the layout."""
    return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))
