"""People's own streams: columns of any kind, prepared by the code of sdsl.label.

The first segment, which gives the gold set, decides what a column is. Files are in order of name.
"""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from sdsl.config.sections import DataConfig
from sdsl.core.rows import Table
from sdsl.core.settings import Positive
from sdsl.datasets import files
from sdsl.datasets.columns import prepare
from sdsl.datasets.files import Content
from sdsl.datasets.sources import FileSource, strict
from sdsl.datasets.tables import Frame, encoded, framed, label_of
from sdsl.errors import UserError


@strict
class Own(FileSource):
    """The user's own table, or a folder or glob of them, its rows in order of time."""

    path: str
    prepare: bool  # False: finite numbers only, in one file
    drop: list[str]
    use: list[str]
    segment_size: Positive  # of the dataset: its first segment is where gold comes from

    def __post_init__(self) -> None:
        if (self.drop or self.use) and not self.prepare:
            raise UserError("dataset.drop and dataset.use need dataset.prepare=true.")

    def load(self, data: DataConfig) -> Table:
        paths = [found.path for found in files.inputs([self.path])]
        if not paths or (len(paths) > 1 and not self.prepare):
            why = "one file, or dataset.prepare=true" if paths else "a file, or a folder of tables"
            raise UserError(f"dataset.path={self.path}: expected {why}; found {len(paths)} files.")
        source = (
            f"file {paths[0].name}" if len(paths) == 1 else f"{len(paths)} files of {self.path}"
        )
        table = self.table([files.read(path) for path in paths], data, source)
        return replace(table, standing="own")

    def parse(self, contents: Sequence[Content]) -> Table:
        """The rows of all files, or one sentence that says what is wrong with them."""
        if not self.prepare:
            return super().parse(contents)
        frames = [framed(contents[0], self.label, self.header)]
        label, known = label_of(frames[0], self.label), list(frames[0].columns)
        frames += [framed(content, label, self.header, known) for content in contents[1:]]
        self._refuse_unlabelled(frames, label)
        plan = prepare(self._gold(frames), label, self.drop, self.use, "dataset.")
        if 4 * sum(map(len, frames)) * len(plan.features) > files.LIMIT:
            raise files.too_large(frames[0].path)
        X = []
        for frame in frames:
            try:
                X.append(plan.transform(frame.columns, int(frame.header)))
            except UserError as error:
                raise UserError(f"{frame.path}: {error}") from None
        hashes = [content.sha256 for content in contents]
        several = hashlib.sha256("".join(hashes).encode()).hexdigest()
        return Table(
            "",
            np.concatenate(X),
            *encoded(frames, label),
            source="",
            standing="own",
            sha256=several if len(hashes) > 1 else hashes[0],
            features=tuple(plan.features),
            notes=tuple(plan.told()),
        )

    def _gold(self, frames: Sequence[Frame]) -> pd.DataFrame:
        """The first segment, whose rows may be those of several files."""
        ends = np.cumsum([len(frame) for frame in frames])
        needed = frames[: int(np.searchsorted(ends, self.segment_size)) + 1]
        rows = pd.concat([frame.columns for frame in needed], ignore_index=True)
        return rows[: self.segment_size]

    def _refuse_unlabelled(self, frames: Sequence[Frame], label: str) -> None:
        """A stream whose labels end is one to label, not one to evaluate on."""
        found = [name is not None for frame in frames for name in frame.labels(label)]
        row = found.index(False) if False in found else 0
        if not row or any(found[row:]):
            return  # complete, or with gaps, which `encoded` refuses
        whole = 0  # files with labels in every row
        while row >= len(frames[whole]):
            row, whole = row - len(frames[whole]), whole + 1
        gold = [str(frame.path) for frame in frames[: whole + (row > 0)]]
        words = [
            f"gold={gold[0]}" if len(gold) == 1 else f"gold=[{','.join(gold)}]",
            *(f"files={self.path}", f"label={label}", "out=labelled"),
            *([f"segment_size={self.segment_size}"] if gold == [self.path] else []),
            *([f"drop=[{','.join(self.drop)}]"] if self.drop else []),
            *([f"use=[{','.join(self.use)}]"] if self.use else []),
        ]
        raise UserError(
            f"{frames[whole].row(row)}: from here on there are no labels. sdsl.run is the "
            "evaluation harness, which needs the label of every row; to label this stream: "
            f"{shlex.join(['python', '-m', 'sdsl.label', *words])}"
        )
