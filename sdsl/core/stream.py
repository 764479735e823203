"""The stream: gold set D, segments X_1..X_T with hidden labels, test parts Q_1..Q_T.

Segment 0 gives D; every later segment splits at random into an unlabelled and a test part. Both
come in random order, so the order of a file's rows within a segment cannot matter.
"""

from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from sdsl.core.draws import Draws, derive
from sdsl.core.rows import Rows, Table, misfit, rank_in_class
from sdsl.core.settings import Positive, Weight, settings
from sdsl.errors import UserError


@settings
class Cut:
    """How a dataset is cut into segments."""

    segment_size: Annotated[int, Field(ge=2)] | None  # not used if the table's rows say segments
    test_size: Positive | None  # rows of each segment that only test; None: a fifth
    # For stream.gold=record; all: every row of segment 0; None: as stream.gold=segment.
    gold_per_class: Positive | Literal["all"] | None
    calibrated_segments: Positive | None  # T, for stream.prefix=calibrated


@settings
class StreamConfig:
    """How a cut table becomes a stream."""

    # RECORD's counts per class; as many rows as an unlabelled part; so many per class
    gold: Literal["record", "segment"] | Positive
    scaler: Literal["frozen", "per_step", "none"]  # see core/adaptation.py
    max_segments: Positive | None  # shorten the stream to this many after gold
    jitter: Weight  # rows are multiplied by 1 + so much noise: shows which results rounding decides
    prefix: Literal["literal", "calibrated"]  # calibrated: the prefix nearest to the paper


class Stream:
    """One table, cut and split for one seed. Segments count from 1; 0 is the gold segment."""

    def __init__(self, table: Table, cut: Cut, config: StreamConfig, seed: int):
        self.table, self.seed, self.config = table, seed, config
        self.C, self.d = len(table.classes), table.X.shape[1]
        ends = self._ends(cut)
        self.T = len(ends) - 1
        rng = np.random.default_rng(derive(seed, "split"))
        order = [
            torch.from_numpy(start + rng.permutation(end - start))
            for start, end in pairwise((0, *ends))
        ]
        tests = [cut.test_size or max(1, len(segment) // 5) for segment in order]
        self._check(order, tests)
        self._X, self._y = torch.from_numpy(table.X), torch.from_numpy(table.y)
        if config.jitter:
            self._X = self._X * (1 + config.jitter * Draws(seed, "jitter").normal(*self._X.shape))
        parts = list(zip(order[1:], tests[1:], strict=True))
        self.test = [segment[:q] for segment, q in parts]  # row numbers, as in all of these
        self.unlabelled = [segment[q:] for segment, q in parts]
        self._gold = self._draw_gold(order[0], len(order[0]) - tests[0], cut.gold_per_class)

    def _ends(self, cut: Cut) -> tuple[int, ...]:
        """The row after each segment, that of gold first; two at least."""
        rows, size = len(self.table.y), cut.segment_size
        if self.table.ends:
            ends, segments = self.table.ends, "two segments"
        elif size:
            # Rows that do not fill a last segment are left out.
            ends, segments = tuple(range(size, rows + 1, size)), f"two segments of {size}"
        else:
            raise self._refused("dataset.segment_size has no value, and no column says segments.")
        if len(ends) < 2:
            raise self._refused(
                f"{rows} rows are fewer than {segments}: one gives the gold set, the others the "
                "stream. Lower dataset.segment_size."
            )
        T = len(ends) - 1
        if self.config.prefix == "calibrated":
            T = min(T, cut.calibrated_segments or T)
        return ends[: min(T, self.config.max_segments or T) + 1]

    def _check(self, order: list[Tensor], tests: list[int]) -> None:
        """Every method needs two classes, and rows on both sides of a segment."""
        rows = Rows(torch.from_numpy(self.table.X), torch.from_numpy(self.table.y))
        if found := misfit(rows, self.d, self.C):
            raise self._refused(f"{found}.")
        if self.C < 2:
            raise self._refused(
                f"one class only ({self.table.classes[0]!r}); expected at least two. Is "
                "dataset.label the right column?"
            )
        for t, (segment, q) in enumerate(zip(order, tests, strict=True)):
            if len(segment) <= q:
                raise self._refused(
                    f"segment {t} (rows: {len(segment)}) is too short for {q} rows to test and "
                    "one to label. Lower dataset.test_size, or make segments longer."
                )

    def _refused(self, why: str) -> UserError:
        return UserError(f"{self.table.name} ({self.table.source}): {why}")

    def _draw_gold(self, segment: Tensor, n: int, per_class: int | str | None) -> Rows:
        """D from segment 0's rows [size], in the seed's own random order."""
        gold = self.config.gold
        rows = Rows(self._X[segment], self._y[segment])
        k = gold if isinstance(gold, int) else per_class if gold == "record" else None
        if k is None:
            rows = rows[:n]
        elif isinstance(k, int):
            rows = rows[rank_in_class(torch.zeros(len(rows)), rows.y, self.C) < k]
        if missing := set(range(self.C)) - set(rows.y.tolist()):
            names = ", ".join(self.table.classes[c] for c in sorted(missing)[:10])
            raise UserError(
                f"{self.table.name} ({self.table.source}), seed {self.seed}: the gold set "
                f"({len(rows)} of the first {len(segment)} rows) has no row of class {names}; a "
                "class without a gold label can never be predicted. Raise dataset.segment_size, "
                "choose another dataset.order, or set stream.gold=N."
            )
        return rows

    def gold(self) -> Rows:
        """D, raw."""
        return self._gold

    def segment(self, t: int) -> Tensor:
        """X_t, raw [n, d]: the only thing about segment t that a method may see."""
        return self._X[self.unlabelled[t - 1]]

    def truth(self, t: int) -> Tensor:
        """The hidden labels of X_t [n]: for scoring, and for components declared privileged."""
        return self._y[self.unlabelled[t - 1]]

    def tests(self) -> list[Rows]:
        """The test parts Q_1 to Q_T, raw."""
        return [Rows(self._X[rows], self._y[rows]) for rows in self.test]
