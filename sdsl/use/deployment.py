"""A deployment: one model, one folder of labelled files, one state; killed anywhere, it goes on.

The state file is what counts. A segment is done in this order:
1. `next.json` says which rows of which files the segment is made of;
2. the model labels them, and the files that are complete are written to `out`;
3. the state replaces the old one.
A kill before 3 leaves the old state. The next call takes the same rows from `next.json`, and the
same model gives the same labels, bit for bit: nothing is lost, nothing is learnt twice.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sdsl.config.registry import own_modules
from sdsl.core import state
from sdsl.core.finite import NotFinite
from sdsl.datasets.columns import Plan
from sdsl.datasets.frames import Frame, read
from sdsl.datasets.inputs import Input
from sdsl.errors import UserError
from sdsl.use.following import Following
from sdsl.use.gold import given_labels, same_file, spelled
from sdsl.use.history import Record
from sdsl.use.saved import plain_model

HIDDEN, STATE, NEXT = ".sdsl", "state.sdsl", "next.json"


@dataclass(frozen=True)
class Piece:
    """Rows start..stop of one file."""

    name: str
    start: int
    stop: int

    @property
    def rows(self) -> int:
        return self.stop - self.start


@dataclass
class Segment:
    """What was labelled in one step."""

    pieces: list[Piece]
    accuracy: float  # of the rows that carry a label; NaN: none does
    balanced: float = float("nan")  # mean recall of the classes among them


@dataclass
class Book:
    """What a deployment remembers beside its model."""

    id: str
    settings: dict[str, Any]  # what must stay the same from call to call
    gold_sha256: str
    gold_rows: dict[str, int]  # resolved path -> rows at its beginning that are gold
    done: dict[str, list[int]] = field(default_factory=dict)  # name -> its version
    aside: dict[str, tuple[list[int], str]] = field(default_factory=dict)  # name -> version, reason
    # Files that are labelled in part: name -> labels and confidence of the first rows after gold.
    progress: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    segments: list[Segment] = field(default_factory=list)


@dataclass(frozen=True)
class Opened:
    """A file that is being labelled."""

    frame: Frame
    X: np.ndarray  # its features
    given: list[str | None]  # the labels that it carries itself
    version: list[int]  # as it was when it was read


class Deployment:
    """Opened by sdsl/use/opening.py, which also holds the lock."""

    def __init__(
        self,
        out: Path,
        book: Book,
        plan: Plan,
        model: Following,
        params: dict[str, Any],
        only_gold: set[str],
    ):
        self.out, self.book, self.plan, self.model, self.params = out, book, plan, model, params
        self.only_gold = only_gold  # resolved paths of files without a row to label
        self.opened: dict[str, Opened] = {}

    def new(self, inputs: Sequence[Input]) -> list[Input]:
        """Files that are neither done nor set aside as they are now."""
        return [
            found
            for found in inputs
            if found.name not in self.book.done
            and str(found.path.resolve()) not in self.only_gold
            and self.book.aside.get(found.name, ([], ""))[0] != found.version()
        ]

    def changed(self, inputs: Sequence[Input]) -> list[str]:
        """Files that were changed after they had been labelled."""
        done = self.book.done
        return [i.name for i in inputs if i.name in done and done[i.name] != i.version()]

    def run(
        self,
        inputs: Sequence[Input],
        segment_size: int | None,
        on_aside: Callable[[str, str], None],
    ) -> Iterator[tuple[Segment, Record]]:
        """Label all that is new, segment by segment; each is safe on disk when it is yielded."""
        by_name = {found.name: found for found in inputs}
        for pieces in self._planned(by_name, segment_size, on_aside):
            try:
                done = self._label(pieces)
            except NotFinite as error:
                self._refuse(pieces, by_name, str(error), on_aside)
            else:
                yield done

    def _refuse(
        self,
        pieces: list[Piece],
        by_name: dict[str, Input],
        why: str,
        on_aside: Callable[[str, str], None],
    ) -> None:
        """Sets files aside that the model cannot follow; parts of files stop the command."""
        names = ", ".join(piece.name for piece in pieces)
        whole = [p.stop - self._begun(by_name[p.name]) == p.rows for p in pieces]
        ends = [p.stop == len(self.opened[p.name].frame) for p in pieces]
        if not all(whole) or not all(ends):
            raise UserError(f"{names}: {why} Mend or remove these files; what is done stays done.")
        (self.out / HIDDEN / NEXT).unlink(missing_ok=True)
        for piece in pieces:
            self._set_aside(by_name[piece.name], why)
            on_aside(piece.name, why)

    def _planned(
        self,
        by_name: dict[str, Input],
        size: int | None,
        on_aside: Callable[[str, str], None],
    ) -> Iterator[list[Piece]]:
        """The pieces of each segment; first those of a segment that a kill cut short."""
        if (again := self._interrupted(by_name)) is not None:
            yield again
        gathered: list[Piece] = []
        for found in self.new(list(by_name.values())):
            try:
                frame = self._open(found)
            except UserError as error:
                self._set_aside(found, str(error))
                on_aside(found.name, str(error))
                continue
            start = self._begun(found)
            if size is None:
                yield [Piece(found.name, start, len(frame))]
                continue
            while (room := size - sum(p.rows for p in gathered)) <= len(frame) - start:
                yield [*gathered, Piece(found.name, start, start + room)]
                gathered, start = [], start + room
            if start < len(frame) or not len(frame):
                gathered.append(Piece(found.name, start, len(frame)))
        if gathered:  # the last segment of a call may be shorter
            yield gathered

    def _begun(self, found: Input) -> int:
        """The first row of a file that has no label yet."""
        half = self.book.progress.get(found.name)
        return same_file(found.path, self.book.gold_rows) + (len(half[0]) if half else 0)

    def _open(self, found: Input) -> Frame:
        if found.name not in self.opened:
            try:
                version = found.version()
                frame = read(found.path, self.plan.label)
                X = self.plan.transform(frame.columns) if len(frame) else self._no_rows()
            except OSError as error:  # it went away meanwhile
                raise UserError(f"{found.name}: {error.strerror}.") from None
            except UserError as error:
                reason = str(error).removeprefix(str(found.path)).removeprefix(": ")
                gap = "" if reason.startswith(",") else ": "  # ", line 3: ..."
                raise UserError(f"{found.name}{gap}{reason}") from None
            given = given_labels(frame, self.plan.label)
            self.opened[found.name] = Opened(frame, X, given, version)
        return self.opened[found.name].frame

    def _no_rows(self) -> np.ndarray:
        return np.zeros((0, len(self.plan.features)), np.float32)

    def _label(self, pieces: list[Piece]) -> tuple[Segment, Record]:
        plan = {"segment": len(self.book.segments), "pieces": [asdict(p) for p in pieces]}
        state.write_whole(self.out / HIDDEN / NEXT, json.dumps(plan).encode())
        X = np.concatenate([self.opened[p.name].X[p.start : p.stop] for p in pieces])
        codes, confidence = self.model.step(X)
        truth: list[str | None] = []
        at = 0
        for piece in pieces:
            opened, rows = self.opened[piece.name], slice(at, at + piece.rows)
            truth += opened.given[piece.start : piece.stop]
            half = self.book.progress.get(piece.name, (codes[:0], confidence[:0]))
            labelled = (
                np.concatenate([half[0], codes[rows]]),
                np.concatenate([half[1], confidence[rows]]),
            )
            self.book.progress[piece.name] = labelled
            at += piece.rows
            if piece.stop == len(opened.frame):
                self._write(piece.name, opened, *labelled)
                del self.book.progress[piece.name], self.opened[piece.name]
                self.book.done[piece.name] = opened.version
                self.book.aside.pop(piece.name, None)
        segment = Segment(pieces, *self._scores(codes, truth))
        self.book.segments.append(segment)
        self.save()
        return segment, self.model.records[-1]

    def _scores(self, codes: np.ndarray, truth: list[str | None]) -> tuple[float, float]:
        """(accuracy, balanced accuracy) of the rows that carry a label, a new class included."""
        known = [i for i, name in enumerate(truth) if name is not None]
        if not known:
            return float("nan"), float("nan")
        true = np.array([truth[i] for i in known])
        right = np.array([self.model.classes[codes[i]] for i in known]) == true
        recalls = [right[true == name].mean() for name in np.unique(true)]
        return float(right.mean()), float(np.mean(recalls))

    def _write(self, name: str, opened: Opened, codes: np.ndarray, sure: np.ndarray) -> None:
        """The file with `label` and `confidence`; gold rows keep their own label."""
        columns, own = opened.frame.columns.copy(), opened.given
        gold = len(own) - len(codes)
        if "label" in columns and any(own[gold:]):
            columns = columns.rename(columns={"label": "label_given"})
        labels = [*map(str, own[:gold]), *(self.model.classes[c] for c in codes)]
        columns["label"] = spelled(labels).to_numpy()
        columns["confidence"] = np.round(np.concatenate([np.ones(gold), sure]), 6)
        target = self.out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        state.write_whole(target, opened.frame.data(columns))

    def _interrupted(self, by_name: dict[str, Input]) -> list[Piece] | None:
        """The segment that was begun and not finished; None: there is none, or its files went."""
        try:
            plan = json.loads((self.out / HIDDEN / NEXT).read_bytes())
        except (OSError, ValueError):
            return None
        pieces = [Piece(**piece) for piece in plan["pieces"]]
        if plan["segment"] != len(self.book.segments):
            return None
        try:
            whole = all(self._open(by_name[p.name]) is not None for p in pieces)
        except (KeyError, UserError):
            return None
        fits = all(p.start == self._begun(by_name[p.name]) for p in pieces)
        fits = fits and all(p.stop <= len(self.opened[p.name].frame) for p in pieces)
        return pieces if whole and fits else None

    def _set_aside(self, found: Input, reason: str) -> None:
        try:
            self.book.aside[found.name] = found.version(), reason
        except OSError:  # it is gone: there is nothing to come back to
            return
        self.save()

    def save(self) -> None:
        """The one moment at which anything counts."""
        following = self.model
        classes = np.array(following.classes)
        names = self.plan.features
        held = plain_model(self.params, classes, len(names), names, following)
        held["deployment"] = asdict(self.book)
        held["plan"] = self.plan.plain()
        state.save_state(self.out / HIDDEN / STATE, held, own_modules(following.config))


def book_from_plain(held: dict[str, Any]) -> Book:
    """What `asdict` gave, once restored."""
    segments = [
        Segment(**{**one, "pieces": [Piece(**piece) for piece in one["pieces"]]})
        for one in held["segments"]
    ]
    return Book(**{**held, "segments": segments})
