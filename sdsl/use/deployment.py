"""A deployment: a model, its output folder and its state file. Safe to kill at any time.

The state file is the truth. Files are done in this order:
1. the model labels them, and the labelled copies are written to `out/.sdsl/ready`;
2. the state, which lists them, replaces the old one;
3. the copies are moved to `out`.
After a kill before 2 the old state labels the files again; after a later one the next call does
the rest of 3. Nothing is lost, nothing is learnt twice, and no published label changes.
"""

import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from sdsl.core.finite import NotFinite
from sdsl.core.state import load_state, save_state, write_whole
from sdsl.datasets.columns import Plan, prepare
from sdsl.datasets.files import Input, inputs, user_path
from sdsl.datasets.tables import Frame, read
from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier
from sdsl.use.config import LabelSettings
from sdsl.use.saved import from_state, own_modules, to_state

STATE = Path(".sdsl", "state.sdsl")
READY = Path(".sdsl", "ready")
GoldRows = dict[Path, int | None]  # resolved path -> rows at its beginning that are gold; None: all


@dataclass
class Book:
    """The part of the state beside the model."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    done: dict[str, list[int]] = field(default_factory=dict)  # name -> version of the file
    aside: dict[str, tuple[list[int], str]] = field(default_factory=dict)  # version and reason
    ready: list[str] = field(default_factory=list)  # written, perhaps not moved to `out` yet


@dataclass(frozen=True)
class Opened:
    """A file to be labelled."""

    name: str
    version: list[int]  # as it was when it was read
    frame: Frame
    X: np.ndarray  # [n, d] the rows after gold
    given: list[str | None]  # the labels of all rows that the file carries itself


class Deployment:
    """Opened by `opened`, which holds the lock."""

    def __init__(self, out: Path, model: StreamClassifier, book: Book, plan: Plan, gold: GoldRows):
        self.out, self.model, self.book, self.plan, self.gold = out, model, book, plan, gold

    def looks(self, given: LabelSettings) -> Iterator[list[Input]]:
        """The files that are there: once, or with watch=true again and again."""
        while True:
            found = inputs(given.files, self.out)
            if not (found or given.watch):
                raise UserError(f"files={', '.join(given.files)}: there is no such file.")
            if given.watch:  # a file that still grows waits for the next look
                until = time.time() - given.every
                found = [one for one in found if one.path.stat().st_mtime <= until]
            yield found
            if not given.watch:
                return
            time.sleep(given.every)

    def new(self, found: Sequence[Input]) -> list[Input]:
        """Files that are neither done nor set aside as they are now."""
        book, gold = self.book, {path for path, rows in self.gold.items() if rows is None}
        some = [i for i in found if i.name not in book.done and i.path.resolve() not in gold]
        return [i for i in some if book.aside.get(i.name, ([], ""))[0] != i.version()]

    def changed(self, found: Sequence[Input]) -> set[str]:
        """Files that were changed after they had been labelled."""
        done = self.book.done
        return {i.name for i in found if i.name in done and done[i.name] != i.version()}

    def run(
        self, found: Sequence[Input], size: int | None
    ) -> Iterator[tuple[int, list[dict[str, Any]], str]]:
        """(files done, records of their segments, reason if set aside); safe on disk by then.

        Without a size each file is a segment. With one, files are joined until they have so many
        rows, and cut evenly into segments of about so many.
        """
        waiting: list[Opened] = []
        new = self.new(found)
        for one in new:
            version = one.version()
            try:
                waiting.append(self._open(one, version))
            except UserError as error:
                yield self._set_aside(one.name, version, str(error))
            if waiting and (one is new[-1] or sum(len(f.X) for f in waiting) >= (size or 0)):
                try:
                    yield len(waiting), self._label(waiting, size), ""
                except NotFinite as error:
                    self.model = _load(self.out, self.model.follower_.config)[0]
                    for file in waiting:
                        yield self._set_aside(file.name, file.version, f"{file.name}: {error}")
                waiting = []

    def _set_aside(self, name: str, version: list[int], reason: str) -> tuple[int, list[Any], str]:
        self.book.aside[name] = version, reason
        self.save()
        return 1, [], reason

    def _open(self, found: Input, version: list[int]) -> Opened:
        known = [*self.model.feature_names_in_, *self.plan.ignored, self.plan.label]
        try:
            frame = read(found.path, self.plan.label, known)
            gold = self.gold.get(found.path.resolve()) or 0
            rows = frame.columns[[name for name in frame.columns if name in known]].iloc[gold:]
            X = self.plan.transform(rows, before=gold)
        except UserError as error:
            reason = str(error).removeprefix(str(found.path)).lstrip(":, ")
            raise UserError(f"{found.name}: {reason}") from None
        return Opened(found.name, version, frame, X, frame.labels(self.plan.label))

    def _label(self, files: Sequence[Opened], size: int | None) -> list[dict[str, Any]]:
        X, follower = np.concatenate([file.X for file in files]), self.model.follower_
        truth = pd.Series(
            [c for f in files for c in f.given[len(f.given) - len(f.X) :]], dtype=object
        )
        parts = np.array_split(np.arange(len(X)), max(1, round(len(X) / size)) if size else 1)
        labels, names = [], ", ".join(file.name for file in files)
        for i, part in enumerate(parts, 1):
            labels.append(follower.step(X[part]))
            known = truth[part].dropna()  # a class that gold lacks counts as wrong
            said = pd.Series(np.array(follower.classes, object)[labels[-1][0]], part)
            right = known == said[known.index]
            follower.records[-1] |= {
                "files": f"{names} ({i} of {len(parts)})" if len(parts) > 1 else names,
                "accuracy": float(right.mean()),
                "balanced_accuracy": float(right.groupby(known).mean().mean()),
            }
        codes, confidence = (np.concatenate(one) for one in zip(*labels, strict=True))
        ends = np.cumsum([len(file.X) for file in files])[:-1]
        for file, y, p in zip(
            files, np.split(codes, ends), np.split(confidence, ends), strict=True
        ):
            self._write(file, y, p)
            self.book.done[file.name] = file.version
            self.book.aside.pop(file.name, None)
        self.book.ready = [file.name for file in files]
        self.save()
        self.publish()
        return follower.records[-len(parts) :]

    def _write(self, file: Opened, codes: np.ndarray, confidence: np.ndarray) -> None:
        """The file with `label` and `confidence`; gold rows keep their own label."""
        columns, classes = file.frame.columns.copy(), self.model.classes_
        gold = len(file.given) - len(codes)
        if "label" in columns and any(file.given[gold:]):
            columns = columns.rename(columns={"label": "label_given"})
        own = np.array(file.given[:gold], dtype=classes.dtype)
        columns["label"] = np.concatenate([own, classes[codes]])
        columns["confidence"] = np.round(np.concatenate([np.ones(gold), confidence]), 6)
        target = self.out / READY / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, file.frame.data(columns))

    def save(self) -> None:
        """From here on the labels count."""
        save_state(self.out / STATE, to_state(self.model) | {"deployment": asdict(self.book)})

    def publish(self) -> None:
        """Move the copies that the state lists; delete others, of a process that was killed."""
        ready = self.out / READY
        for name in self.book.ready:
            if (ready / name).exists():
                (self.out / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(ready / name, self.out / name)
        for rest in [*ready.rglob("*"), *ready.parent.glob(".*.part")]:
            if rest.is_file():
                rest.unlink()


@contextmanager
def opened(given: LabelSettings, config: Mapping[str, Any], seed: int) -> Iterator[Deployment]:
    """The deployment of the folder `out`, new or as it was left, for this process alone."""
    out, (X, y, gold) = user_path(given.out), read_gold(given.gold, given.label)
    plan = prepare(X, given.label, given.drop, given.use)
    model = StreamClassifier(config["method"]["name"], seed)
    model.fit_config(X[[column.name for column in plan.columns]], y, config, plan)
    try:
        (out / READY).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"out={out}: cannot be made ({error.strerror}).") from None
    try:
        with FileLock(out / ".sdsl" / "lock", timeout=0):
            book = Book()
            if (out / STATE).exists():
                fresh = model
                model, book = _load(out, fresh.follower_.config)
                _refuse_others(model, fresh, out)
            deployment = Deployment(out, model, book, plan, gold)
            deployment.publish()
            yield deployment
    except Timeout:
        raise UserError(f"Another sdsl.label is at work on out={out}. Wait, or stop it.") from None


def _load(out: Path, config: Mapping[str, Any]) -> tuple[StreamClassifier, Book]:
    """The content of the state file; the modules of the config at hand are trusted."""
    state = load_state(out / STATE)
    model = from_state(StreamClassifier, state, out / STATE, own_modules(config))
    return model, Book(**state.get("deployment", {}))


def _refuse_others(model: StreamClassifier, fresh: StreamClassifier, out: Path) -> None:
    """The model of a folder goes on only with the settings and gold that it was begun with."""
    old, new = model.follower_, fresh.follower_
    others = [name for name, value in new.config.items() if old.config[name] != value]
    if model.seed != fresh.seed:
        others.append("seed")
    rows = old.gold.X.equal(new.gold.X) and old.gold.y.equal(new.gold.y)
    if not (rows and old.classes == new.classes and model.columns_ == fresh.columns_):
        others.append("gold, label=, drop= or use=")
    if others:
        text = f"out={out} was begun with another {', '.join(others)}."
        raise UserError(f"{text} Use the same, or another out=.")


def read_gold(patterns: Sequence[str], label: str) -> tuple[pd.DataFrame, np.ndarray, GoldRows]:
    """(columns, labels [g], rows by file) of the gold files, each up to a row without a label."""
    frames = [read(found.path, label) for found in inputs(patterns)]
    if not frames:
        raise UserError(f"gold={', '.join(patterns)}: there is no such file.")
    parts, labels, taken = [], [], {}
    for frame in frames:
        if label not in frame.columns:
            there = ", ".join(frame.columns.columns[:20])
            raise UserError(f"{frame.path}: there is no column '{label}'; it has {there}.")
        given = [*frame.labels(label), None]
        if not (count := given.index(None)):
            raise UserError(f"{frame.path}: the first row has no label; gold begins with labels.")
        parts.append(frame.columns.iloc[:count].drop(columns=label))
        labels += given[:count]
        taken[frame.path.resolve()] = count if count < len(frame) else None
    if any(set(part.columns) != set(parts[0].columns) for part in parts):
        raise UserError("The gold files have different columns; give files of one kind.")
    if len(set(labels)) < 2:
        raise UserError(f"gold has one class only ({labels[0]}); expected at least two.")
    numbers = all(re.fullmatch(r"-?(0|[1-9]\d{0,17})", str(name)) for name in labels)
    y = np.array(labels, dtype=np.int64 if numbers else str)
    return pd.concat(parts, ignore_index=True), y, taken
