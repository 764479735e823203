"""A deployment: a model, its output folder and its state file. Safe to kill at any time.

The state file is the truth. Files are done in this order:
1. the model labels them, and the labelled copies are written to `out/.sdsl/ready`;
2. the state, which lists them, replaces the old one;
3. the copies are moved to `out`.
After a kill before 2 the old state labels the files again; after a later one the next call does
the rest of 3. Nothing is lost, nothing is learnt twice, and no published label changes.
"""

import hashlib
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
import torch
from filelock import FileLock, Timeout

from sdsl.core.finite import NotFinite
from sdsl.core.state import write_whole
from sdsl.datasets.columns import prepare
from sdsl.datasets.files import Input, inputs, user_path
from sdsl.datasets.tables import Frame, read
from sdsl.errors import UserError
from sdsl.use.checks import ANSWER, KEY, SHOWN
from sdsl.use.config import LabelSettings
from sdsl.use.figure import draw
from sdsl.use.follower import Follower, foreign, loaded

STATE = Path(".sdsl", "state.sdsl")
READY = Path(".sdsl", "ready")
HISTORY, FIGURE, TO_CHECK = "history.csv", "history.svg", "to_check.csv"  # in `out`
GoldRows = dict[Path, int | None]  # resolved path -> rows at its beginning that are gold; None: all
Records = list[dict[str, Any]]


@dataclass
class Book:
    """The part of the state beside the model."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    done: dict[str, list[int]] = field(default_factory=dict)  # name -> version of the file
    aside: dict[str, tuple[list[int], str]] = field(default_factory=dict)  # version and reason
    hashes: dict[str, str] = field(default_factory=dict)  # SHA-256 of a file that is done -> name
    ready: list[str] = field(default_factory=list)  # written, perhaps not moved to `out` yet


@dataclass(frozen=True)
class Opened:
    """A file to be labelled."""

    name: str
    version: list[int]  # as it was when it was read
    sha256: str
    frame: Frame
    X: np.ndarray  # [n, d] the rows after gold
    gold: list[str | None]  # the labels of gold's rows at its beginning
    given: list[str | None]  # the labels that the file has for the other rows, if any


class Deployment:
    """Made by `opened`, which holds the lock."""

    def __init__(
        self, given: LabelSettings, out: Path, follower: Follower, book: Book, gold: GoldRows
    ):
        self.given, self.out = given, out
        self.follower, self.book, self.gold = follower, book, gold
        self.plan = follower.columns

    def looks(self, given: LabelSettings) -> Iterator[list[Input]]:
        """The files that are there: once, or with watch=true again and again."""
        while True:
            found = inputs(given.files, self.out)
            if not given.watch:
                if not found:
                    raise UserError(f"files={', '.join(given.files)}: there is no such file.")
                yield found
                return
            until = time.time() - given.every  # a file that still grows waits for the next look
            yield [one for one in found if one.path.stat().st_mtime <= until]
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

    def run(self, found: Sequence[Input], size: int | None) -> Iterator[tuple[int, Records, str]]:
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
                before = self.follower.state()
                try:
                    yield len(waiting), self._label(waiting, size), ""
                except NotFinite as error:
                    self.follower = Follower.from_state(before)
                    for file in waiting:
                        yield self._set_aside(file.name, file.version, f"{file.name}: {error}")
                waiting = []

    def _set_aside(self, name: str, version: list[int], reason: str) -> tuple[int, Records, str]:
        self.book.aside[name] = version, reason
        self.save()
        return 1, [], reason

    def _open(self, found: Input, version: list[int]) -> Opened:
        names, label = [column.name for column in self.plan.columns], self.plan.label
        if found.name in (HISTORY, TO_CHECK):
            raise UserError(f"{found.name}: sdsl.label writes a file of this name; rename yours.")
        sha256 = hashlib.sha256(found.path.read_bytes()).hexdigest()
        if (other := self.book.hashes.get(sha256, found.name)) != found.name:
            raise UserError(f"{found.name}: the same as {other}, and nothing is learnt twice.")
        try:
            frame = read(found.path, label, [*names, *self.plan.ignored, label])
            gold = self.gold.get(found.path.resolve()) or 0
            X = self.plan.transform(frame.columns.filter(items=names).iloc[gold:], before=gold)
        except UserError as error:
            reason = str(error).removeprefix(str(found.path)).lstrip(":, ")
            raise UserError(f"{found.name}: {reason}") from None
        given = frame.labels(label)
        return Opened(found.name, version, sha256, frame, X, given[:gold], given[gold:])

    def _label(self, files: Sequence[Opened], size: int | None) -> Records:
        X, follower, given = np.concatenate([file.X for file in files]), self.follower, self.given
        places = [np.full(len(file.X), file.name, dtype=object) for file in files]
        rows = [len(file.gold) + np.arange(1, len(file.X) + 1) for file in files]  # in the file
        truth = pd.Series([name for file in files for name in file.given], dtype=object)
        parts = np.array_split(np.arange(len(X)), max(1, round(len(X) / size)) if size else 1)
        classes, names = np.array(follower.monitor.classes), ", ".join(one.name for one in files)
        codes, confidence = np.zeros(len(X), int), np.zeros(len(X))
        for i, part in enumerate(parts, 1):
            found = follower.step(X[part], given.abstain, given.ask, given.ask_by)
            codes[part], confidence[part] = found
            segment = len(follower.records)
            follower.checks.place(segment, np.concatenate(places)[part], np.concatenate(rows)[part])
            known = truth[part].dropna()  # a class that gold lacks counts as wrong
            right = known == classes[codes[known.index]]
            record = follower.records[-1]
            record["files"] = f"{names} ({i} of {len(parts)})" if len(parts) > 1 else names
            if len(known):
                record["accuracy"] = float(right.mean())
                record["balanced_accuracy"] = float(right.groupby(known).mean().mean())
        for file in files:
            n = len(file.X)
            self._write(file, follower.labels[codes[:n]], confidence[:n])
            codes, confidence = codes[n:], confidence[n:]
            self.book.done[file.name] = file.version
            if len(file.X):
                self.book.hashes[file.sha256] = file.name
            self.book.aside.pop(file.name, None)
        self.book.ready = [file.name for file in files]
        self.save()
        self.publish()
        return follower.records[-len(parts) :]

    def _write(self, file: Opened, labels: np.ndarray, confidence: np.ndarray) -> None:
        """The file with `label` and `confidence`; gold rows keep their own label."""
        columns = file.frame.columns.copy()
        if "label" in columns and any(file.given):
            columns = columns.rename(columns={"label": "label_given"})
        labels = np.concatenate([np.array(file.gold, dtype=labels.dtype), labels])
        sure = np.concatenate([np.ones(len(file.gold)), confidence])
        if self.given.abstain:  # nullable, so that numbers stay whole
            nullable = pd.Series(pd.array(labels.tolist()), columns.index)
            columns["label"] = nullable.mask(sure < self.given.abstain)
        else:
            columns["label"] = labels
        columns["confidence"] = sure.round(6)
        target = self.out / READY / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, file.frame.data(columns))

    def check(self) -> dict[str, float]:
        """Take the labels of the file `checked`; the checked accuracy, {} before any came."""
        if self.given.checked is None:
            return {}
        path = user_path(self.given.checked)
        found = self.follower.check(read(path, ANSWER, SHOWN).columns, self.given.learn)
        self.save()
        return found

    def show(self) -> None:
        """Write the history as a table and a figure, and the rows to be checked."""
        history, file = self.follower.history(), self.out / TO_CHECK
        table = history.to_csv(index=False).encode()
        if not (old := self.out / HISTORY).exists() or old.read_bytes() != table:
            write_whole(old, table)
            write_whole(self.out / FIGURE, draw(history))
        waiting = self.follower.checks.waiting().set_index(KEY)
        if file.exists():  # labels that were filled in and not given back yet stay
            typed = read(file, ANSWER, SHOWN).columns.astype({"segment": int, "row": int})
            waiting.update(typed.set_index(KEY)[[ANSWER]].astype(object))
        if len(waiting) or file.exists():
            write_whole(file, waiting.reset_index().to_csv(index=False).encode())

    def save(self) -> None:
        """From here on the labels count."""
        self.follower.save(self.out / STATE, deployment=asdict(self.book))

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
    out, (frame, y, gold) = user_path(given.out), read_gold(given.gold, given.label)
    plan = prepare(frame, given.label, given.drop, given.use)
    labels, codes = np.unique(y, return_inverse=True)
    follower, book = Follower(config, plan.transform(frame), codes, labels, seed, plan), Book()
    try:
        (out / STATE).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"out={out}: cannot be made ({error.strerror}).") from None
    try:
        with FileLock(out / STATE.parent / "lock", timeout=0):
            if (out / STATE).exists():  # the modules of the config at hand are trusted
                fresh = follower
                with loaded(out / STATE, foreign(config)) as (follower, state):
                    book = Book(**state["deployment"])
                refuse_others(follower, fresh, out)
            deployment = Deployment(given, out, follower, book, gold)
            deployment.publish()
            yield deployment
    except Timeout:
        raise UserError(f"Another sdsl.label is at work on out={out}. Wait, or stop it.") from None


def refuse_others(old: Follower, new: Follower, out: Path) -> None:
    """The model of a folder goes on only with the settings and gold that it was begun with."""

    def begun(one: Follower) -> dict[str, Any]:
        first = one.gold[torch.arange(len(one.gold) - one.learnt)]
        gold = one.columns, one.labels.tolist(), first.X.numpy().tobytes(), first.y.tolist()
        return {**one.config, "seed": one.seed, "gold, label=, drop= or use=": gold}

    was, now = begun(old), begun(new)
    if others := [name for name in now if was[name] != now[name]]:
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
