"""Tables with columns of any kind as rows of numbers: prepared as sdsl.label does, by columns.py.

What a column is, the first segment says: it gives the gold set. Files are read in order of name.
"""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from sdsl.datasets import limits
from sdsl.datasets.columns import Plan, prepare
from sdsl.datasets.files import Content
from sdsl.datasets.frames import Frame, framed
from sdsl.datasets.header import first_row_is_header
from sdsl.datasets.labels import encode, given
from sdsl.datasets.parse import Parsed, Reading, label_column
from sdsl.errors import UserError

CHUNK = 2**16  # rows prepared at a time


@dataclass(frozen=True)
class Wanted:
    """What the user says about the columns, and where gold ends."""

    path: str  # as typed: a file, a folder or a glob
    reading: Reading
    drop: Sequence[str]
    use: Sequence[str]
    gold_rows: int  # a segment

    def key(self) -> str:
        """All that the rows depend on beside the bytes of the files."""
        reading = self.reading
        return repr((reading.label, reading.header, [*self.drop], [*self.use], self.gold_rows))


def sha256(contents: Sequence[Content]) -> str:
    """Of one file its own; of several, that of all of theirs."""
    if len(contents) == 1:
        return contents[0].sha256
    return hashlib.sha256("".join(one.sha256 for one in contents).encode()).hexdigest()


def prepared(contents: Sequence[Content], wanted: Wanted) -> Parsed:
    """The rows of all files, or one sentence that says what is wrong with them."""
    frames = [framed(content, wanted.reading.label, wanted.reading.header) for content in contents]
    label, frames[0] = _label(frames[0], wanted.reading)
    labels = [_given(frame, label) for frame in frames]
    _refuse_unlabelled(frames, labels, label, wanted)
    plan = prepare(_gold(frames, wanted.gold_rows), label, wanted.drop, wanted.use, "dataset.")
    total = sum(map(len, frames))
    if 4 * total * len(plan.features) > limits.MOST_BYTES:
        raise limits.too_large(frames[0].path)
    X = np.concatenate([_numbers(plan, frame) for frame in frames])
    names = pa.chunked_array([pa.array([one for own in labels for one in own], pa.string())])
    y, classes = encode(names, frames[0].path)
    return Parsed(X, y, classes, tuple(plan.features), tuple(plan.told()))


def _label(frame: Frame, reading: Reading) -> tuple[str, Frame]:
    """(the name of the label's column, the frame without a first row that was a header)."""
    names = [str(name) for name in frame.columns.columns]
    at = label_column(frame.path, names if frame.header else None, len(names), reading.label)
    if frame.doubtful:
        own = pa.chunked_array([pa.array(frame.columns.iloc[:, at].astype(str), pa.string())])
        if first_row_is_header(frame.path, frame.doubtful, at, *_coded(own)):
            frame = frame.without_first_row()
    return str(frame.columns.columns[at]), frame


def _coded(labels: pa.ChunkedArray) -> tuple[np.ndarray, tuple[str, ...]]:
    coded = labels.combine_chunks().dictionary_encode()
    return coded.indices.to_numpy(), tuple(coded.dictionary.to_pylist())


def _gold(frames: Sequence[Frame], rows: int) -> pd.DataFrame:
    """The first rows, which may be those of several files."""
    parts: list[pd.DataFrame] = []
    for frame in frames:
        if (room := rows - sum(map(len, parts))) <= 0:
            break
        parts.append(frame.columns[:room])
    return pd.concat(parts, ignore_index=True)


def _given(frame: Frame, label: str) -> list[str | None]:
    """None where a row has no label; all of them, where there is no such column."""
    if label not in frame.columns:
        return [None] * len(frame)
    return [given(value) for value in frame.columns[label]]


def _refuse_unlabelled(
    frames: Sequence[Frame], labels: Sequence[list[str | None]], label: str, wanted: Wanted
) -> None:
    """A stream whose labels end is one to label, not one to evaluate on."""
    has = [name is not None for own in labels for name in own]
    if not has:
        raise UserError(f"{wanted.path}: no rows; expected rows with a label.")
    first = has.index(False) if False in has else None
    if first is None:
        return
    place, row = 0, first
    while row >= len(labels[place]):
        row, place = row - len(labels[place]), place + 1
    where = f"{frames[place].path}, row {row + 1}"
    if first == 0 or any(has[first:]):
        raise UserError(
            f"{where}: expected a class label, found nothing. Every row needs one to be evaluated."
        )
    gold = [str(frame.path) for frame in frames[: place + (row > 0)]]
    raise UserError(
        f"{where}: from here on there are no labels. sdsl.run is the evaluation harness, which "
        f"needs the label of every row; to label this stream: {_command(gold, label, wanted)}"
    )


def _command(gold: list[str], label: str, wanted: Wanted) -> str:
    """The line that labels such a stream."""
    several = f"[{','.join(gold)}]"
    words = [
        f"gold={gold[0] if len(gold) == 1 else several}",
        f"files={wanted.path}",
        f"label={label}",
        "out=labelled",
    ]
    if [wanted.path] == gold:  # one file: it has to be cut
        words.append(f"segment_size={wanted.gold_rows}")
    for name in ("drop", "use"):
        if chosen := getattr(wanted, name):
            words.append(f"{name}=[{','.join(chosen)}]")
    return shlex.join(["python", "-m", "sdsl.label", *words])


def _numbers(plan: Plan, frame: Frame) -> np.ndarray:
    """X [n, d]; a refusal names the file."""
    parts = [np.zeros((0, len(plan.features)), np.float32)]
    for start in range(0, len(frame), CHUNK):
        try:
            parts.append(plan.transform(frame.columns[start : start + CHUNK], start))
        except UserError as error:
            raise UserError(f"{frame.path}: {error}") from None
    return np.concatenate(parts)


def described(paths: Sequence[Path], path: str) -> str:
    """Where the rows came from, in words."""
    return f"file {paths[0].name}" if len(paths) == 1 else f"{len(paths)} files of {path}"
