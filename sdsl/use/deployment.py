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
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from filelock import FileLock, Timeout

from sdsl.core.finite import NotFinite
from sdsl.core.state import write_whole
from sdsl.datasets.columns import Odd, prepare
from sdsl.datasets.files import Content, Input, inputs, read_table, user_path
from sdsl.datasets.tables import NUMBER, Frame, pieces, written
from sdsl.errors import UserError
from sdsl.use.checks import ANSWER, KEY, SHOWN
from sdsl.use.config import LabelSettings
from sdsl.use.figure import draw
from sdsl.use.follower import Follower, foreign, loaded

STATE = Path(".sdsl", "state.sdsl")
READY = Path(".sdsl", "ready")
HISTORY, FIGURE, TO_CHECK = "history.csv", "history.svg", "to_check.csv"  # in `out`
MOST_CLASSES, SOME_CLASSES = 100, 20  # numbers, and any labels of less than 3 rows each
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
    content: Content
    X: np.ndarray  # [n, d] the rows that are not gold's
    gold: np.ndarray  # [N] whether a row of the file is gold's
    given: pd.Series  # [N] the labels that it has, None where there is none
    remarks: list[str]  # on cells that were taken as missing


class Deployment:
    """Made by `opened`, which holds the lock."""

    def __init__(
        self, given: LabelSettings, out: Path, follower: Follower, book: Book, gold: "Gold"
    ):
        self.given, self.out = given, out
        self.follower, self.book, self.gold = follower, book, gold
        self.plan, self.encoding = follower.columns, given.encoding
        self.looked: list[Input] = []  # the files found last

    def looks(self, given: LabelSettings) -> Iterator[list[Input]]:
        """The files that are there: once, or with watch=true again and again."""
        while True:
            found = self.looked = inputs(given.files, self.out)
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
        book, gold = self.book, {path for path, all_of_it in self.gold.files.items() if all_of_it}
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
        names = [column.name for column in self.plan.columns]
        is_gold = found.path.resolve() in self.gold.files
        if found.name in (HISTORY, TO_CHECK):
            raise UserError(f"{found.name}: sdsl.label writes a file of this name; rename yours.")
        X, given, odd, rows = list[np.ndarray](), list[str | None](), Odd(), 0
        try:
            content = read_table(found.path)
            sha256 = content.sha256
            if (other := self.book.hashes.get(sha256, found.name)) != found.name:
                raise UserError(f"the same as {other}, and nothing is learnt twice.")
            for frame in self._pieces(content):
                given += frame.labels(self.plan.label)
                new = self.plan.transform(frame.columns.filter(items=names), rows, odd)
                X.append(new[pd.isna(given[rows:])] if is_gold else new)
                rows = len(given)
            remarks = self.plan.remarks(odd, rows)
        except UserError as error:
            reason = str(error).removeprefix(str(found.path)).lstrip(":, ")
            raise UserError(f"{found.name}: {reason}") from None
        labels = pd.Series(given, dtype=object)
        gold = labels.notna().to_numpy() & is_gold
        unknown = labels[~gold].value_counts().drop(self.follower.monitor.classes, errors="ignore")
        if len(unknown):
            some = ", ".join(unknown.index[:3])
            remarks.append(f"{unknown.sum()} of its labels are no class of gold ({some})")
        about = found.name, version, sha256, content
        return Opened(*about, np.concatenate(X), gold, labels, remarks)

    def _pieces(self, content: Content) -> Iterator[Frame]:
        label, names = self.plan.label, [one.name for one in self.plan.columns]
        return pieces(content, label, [*names, *self.plan.ignored, label], self.encoding)

    def _label(self, files: Sequence[Opened], size: int | None) -> Records:
        X, follower, given = np.concatenate([file.X for file in files]), self.follower, self.given
        places = [np.full(len(file.X), file.name, dtype=object) for file in files]
        rows = [1 + np.flatnonzero(~file.gold) for file in files]  # in the file
        truth = pd.concat([file.given[~file.gold] for file in files], ignore_index=True)
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
            record["remarks"] = "; ".join(line for file in files for line in file.remarks)
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
        rows = len(file.gold)
        added = {"label": np.empty(rows, labels.dtype), "confidence": np.ones(rows)}
        added["label"][~file.gold], added["confidence"][~file.gold] = labels, confidence.round(6)
        added["label"][file.gold] = file.given[file.gold].to_numpy().astype(labels.dtype)
        if self.given.abstain:  # nullable, so that numbers stay whole
            sure = added["confidence"] >= self.given.abstain
            added["label"] = pd.Series(pd.array(added["label"].tolist())).where(sure).array
        empty = self.plan.label if file.given[~file.gold].isna().all() else None
        target = self.out / READY / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, written(target, self._labelled(file, added, empty)))

    def _labelled(
        self, file: Opened, added: Mapping[str, np.ndarray], empty: str | None
    ) -> Iterator[Frame]:
        """The file's pieces with the columns; one of that name stays as ..._given unless empty."""
        row = 0
        for frame in self._pieces(file.content):
            columns = frame.columns.copy(deep=False)
            for name, values in added.items():
                if name in columns and name != empty:
                    given = f"{name}_given"
                    while given in columns:
                        given += "_given"
                    columns = columns.rename(columns={name: given})
                columns[name] = values[row : row + len(columns)]
            row += len(columns)
            yield replace(frame, columns=columns)

    def check(self) -> dict[str, float]:
        """Take the labels of the file `checked`; the checked accuracy, {} before any came."""
        if self.given.checked is None:
            return {}
        rows = read_checked(user_path(self.given.checked))
        found = self.follower.check(rows, self.given.learn)
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
            typed = read_checked(file).astype({"segment": int, "row": int})
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


def read_checked(path: Path) -> pd.DataFrame:
    """The rows of a to_check.csv."""
    return next(pieces(read_table(path), ANSWER, SHOWN, whole=True)).columns


@contextmanager
def opened(given: LabelSettings, config: Mapping[str, Any], seed: int) -> Iterator[Deployment]:
    """The deployment of the folder `out`, new or as it was left, for this process alone."""
    out, gold = user_path(given.out), read_gold(given.gold, given.label, given.encoding)
    plan = prepare(gold.columns, given.label, given.drop, given.use, keep=given.keep)
    labels, codes = np.unique(gold.y, return_inverse=True)
    X, book = plan.transform(gold.columns, odd=Odd()), Book()
    follower = Follower(config, X, codes, labels, seed, plan)
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
        return {**one.config, "seed": one.seed, "gold, label=, drop=, use= or keep=": gold}

    was, now = begun(old), begun(new)
    if others := [name for name in now if was[name] != now[name]]:
        text = f"out={out} was begun with another {', '.join(others)}."
        raise UserError(f"{text} Use the same, or another out=.")


@dataclass
class Gold:
    """The rows of the gold files that have a label."""

    columns: pd.DataFrame
    y: np.ndarray  # [g] labels
    left_out: int  # rows without a label
    files: dict[Path, bool]  # resolved path -> whether its last row has a label


def read_gold(patterns: Sequence[str], label: str, encoding: str) -> Gold:
    """Rows without a label are left out; if a file ends with some, they are to be labelled."""
    parts, labels, ends = list[pd.DataFrame](), list[str | None](), dict[Path, bool]()
    for found in inputs(patterns):
        before = len(parts)
        for frame in pieces(read_table(found.path), label, (), encoding):
            if label not in frame.columns:
                there = ", ".join(frame.columns.columns[:20])
                raise UserError(f"{found.path}: there is no column '{label}'; it has {there}.")
            labels += (given := frame.labels(label))
            parts.append(frame.columns[pd.notna(given)].drop(columns=label))
        if not any(map(len, parts[before:])):
            raise UserError(f"{found.path}: no row has a label in the column {label}.")
        ends[found.path.resolve()] = labels[-1] is not None
    if not parts:
        raise UserError(f"gold={', '.join(patterns)}: there is no such file.")
    if any(set(part.columns) != set(parts[0].columns) for part in parts):
        raise UserError("The gold files have different columns; give files of one kind.")
    frame = pd.concat(parts, ignore_index=True)
    names = [name for name in labels if name is not None]
    return Gold(frame, classes(names, label), len(labels) - len(names), ends)


def classes(names: Sequence[str], label: str) -> np.ndarray:
    """[g] labels, whole numbers as such; one class and quantities are refused."""
    found = len(different := set(names))
    if found < 2:
        raise UserError(f"gold has one class only ({names[0]}); expected at least two.")
    numbers = all(map(NUMBER.match, different))
    most = min(MOST_CLASSES, len(names) / 3) if numbers else len(names) / 3
    if found > max(SOME_CLASSES, most):
        kind = "numbers" if numbers else "texts"
        why = f"{label}: {found} different {kind} in {len(names)} rows of gold are no classes"
        hint = "a column of ranges (low, high)" if numbers else "another column"
        raise UserError(f"{why}, and this command predicts classes. Give label={hint}.")
    whole = all(re.fullmatch(r"-?(0|[1-9]\d{0,17})", name) for name in different)
    return np.array(names, dtype=np.int64 if whole else str)
