"""What the texts are written from: an export, its runs, their tables and verdicts, each once."""

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sdsl.report.claims import verdicts
from sdsl.report.claims.verdicts import Verdict
from sdsl.report.output import tables
from sdsl.report.runs.names import (
    DATASETS,
    LITERAL,
    METRICS,
    READ_LABELS,
    STATIC_BOUND,
    Setting,
    methods_in_order,
)
from sdsl.report.runs.results import Results

EIGHT = list(DATASETS)
GAP = "–"


def shown(value: float) -> str:
    """0.9363 as .936; a dash where nothing ran."""
    return GAP if np.isnan(value) else f"{value:.3f}".removeprefix("0")


@dataclass(frozen=True)
class Facts:
    everything: Results  # the export
    literal: Results  # its literal streams, the archive among them
    folder: Path  # where it is: what is not made of runs is read there

    @staticmethod
    def of(results: Results, folder: Path) -> "Facts":
        return Facts(results, results.of(results.frame.prefix == LITERAL.id), folder)

    @functools.cached_property
    def settings(self) -> dict[Setting, Results]:
        """The paper's streams in every setting that was run."""
        return self.everything.paper_and_own().by_setting()

    @functools.cached_property
    def judged(self) -> dict[Setting, list[Verdict]]:
        return {setting: verdicts.judge(results) for setting, results in self.settings.items()}

    def mean(self, method: str, stream: str, metric: str) -> float:
        """Over seeds; NaN where nothing ran."""
        return float(self.literal.scores(method, stream, metric).mean())

    @functools.cached_property
    def blind(self) -> list[str]:
        """The methods that read no labels and ran on one of the paper's streams."""
        ran = self.literal.frame[self.literal.frame.stream.isin(EIGHT)].variant
        return methods_in_order(set(ran) - {*READ_LABELS, STATIC_BOUND})

    @functools.cached_property
    def best(self) -> dict[str, pd.Series]:
        """metric -> method -> on how many streams its mean is the best; no label readers.

        A mean that rounds to the best counts, too.
        """
        found = {}
        for metric in METRICS:
            table = tables.cells(self.settings[LITERAL], metric)
            found[metric] = table[table.best & table.dataset.isin(EIGHT)].groupby("method").size()
        return found

    def swaps(self, method: str, *streams: str) -> tuple[int, int]:
        """(runs with a lasting swap, runs)"""
        runs = [self.literal.cell(method, stream) for stream in streams or EIGHT]
        return int(sum(r.lasting_swap.sum() for r in runs)), sum(map(len, runs))

    def milliseconds(self, method: str, *streams: str) -> float:
        """Labelling and training, per segment and seed: mean over streams.

        Seeds of one job trained side by side and all have the time of the job.
        """
        costs = []
        for stream in streams:
            runs = self.literal.cell(method, stream)
            if len(runs):
                jobs = runs.seconds_train.drop_duplicates()
                costs.append(1000 * jobs.sum() / (len(runs) * runs["T"].iloc[0]))
        return float(np.mean(costs)) if costs else float("nan")
