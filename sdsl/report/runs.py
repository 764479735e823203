"""Finished runs in memory: a DataFrame with one row per run, and the R and curves of every run."""

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdsl.report.names import DATASETS, PROTOCOLS, SETTINGS, STATIC_BOUND, in_order
from sdsl.tracking import PROBED

# Runs with equal values here are the seeds of one cell of a table.
CELL = ["setting", "stream", "variant", "probe"]
TEXT_COLUMNS = [  # of the frame; every other column holds numbers
    *CELL,
    *("dataset", "method", "group_key", "standing", "data_source", "data_sha256", "stream_sha256"),
    *("code_sha256", "git_sha", "dirty"),
]
INTEGER_COLUMNS = ["seed", "T", "test_rows", "started"]
SHAPE = ["rows", "features", "classes"]  # of the data that ran
RELIABILITY = ("reliability_rows", "reliability_said", "reliability_right")
CURVES = ("pseudo_label_acc", "flatness_one_sided", "flatness_symmetric", *RELIABILITY)
JITTER = re.compile(r"(, )?jitter=[^,]+")
ABLATION = "ablation="
FRAGILE = 0.05  # a cell is marked if jitter moves one of its seeds by more
STATIC_BOUNDS = Path(__file__).with_name("static_bounds.csv")


@dataclass(frozen=True)
class Runs:
    """Runs of a store or of an exported folder, or a part of them."""

    frame: pd.DataFrame  # index run_id; TEXT_COLUMNS, INTEGER_COLUMNS, SHAPE and metrics
    R: Mapping[str, np.ndarray] = field(default_factory=dict)  # run_id -> [T, T]
    curves: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)  # name -> run_id
    configs: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # by group_key
    notes: tuple[str, ...] = ()  # on runs that are left out
    environment: str = ""  # the packages of the newest run, as `pip freeze` lists them

    def by_setting(self) -> dict[str, "Runs"]:
        """The runs of every setting, without those of jittered rows; short streams come last."""
        plain = self.frame.setting[~self.frame.setting.map(is_jittered)]
        return {s: self.of(s) for s in sorted(in_order(plain, SETTINGS), key=is_short)}

    def of(self, setting: str) -> "Runs":
        """The runs of one setting, no ablation; a bound is of the stream, whatever gold is."""
        shown = (self.frame.setting == setting) & ~self.frame.variant.str.contains(ABLATION)
        if setting in PROTOCOLS and STATIC_BOUND not in set(self.frame.variant[shown]):
            bounds = self.frame.variant == STATIC_BOUND
            shown |= bounds & self.frame.setting.isin([*PROTOCOLS])
        return dataclasses.replace(self, frame=self.frame[shown])

    def ablated(self, setting: str) -> "Runs":
        """Ours and all of which one thing was changed."""
        ours = self.frame.variant.str.contains(ABLATION) | (self.frame.variant == "ours")
        return dataclasses.replace(self, frame=self.frame[ours & (self.frame.setting == setting)])

    def jittered(self) -> dict[str, "Runs"]:
        """The runs on rows that differ in the seventh digit, by the setting that they repeat."""
        found = filter(is_jittered, self.frame.setting.unique())
        return {JITTER.sub("", s).strip(", "): self.of(s) for s in found}

    def moved(self, setting: str, variant: str, stream: str, metric: str) -> float:
        """By how much jitter moves the seed of a cell that it moves most; NaN: not measured."""
        if not (again := self._jittered.get(setting)):
            return np.nan
        values = (runs.scores(variant, stream, metric) for runs in (again, self.of(setting)))
        return float(abs(next(values) - next(values)).max())

    @functools.cached_property
    def _jittered(self) -> dict[str, "Runs"]:
        return self.jittered()

    @functools.cached_property
    def variants(self) -> set[str]:
        return set(self.frame.variant)

    @functools.cached_property
    def streams(self) -> list[str]:
        """The paper's datasets in its order, then the others by name."""
        return in_order(self.frame.stream, DATASETS)

    @property
    def paper_streams(self) -> list[str]:
        return [stream for stream in self.streams if stream in DATASETS]

    @property
    def main_streams(self) -> list[str]:
        """Those of the paper, or all if none of them ran: figures, ranks and means are of these."""
        return self.paper_streams or self.streams

    def cell(self, variant: str, stream: str) -> pd.DataFrame:
        """The runs of one cell of a table, by seed; of one probe where none ran without."""
        runs = self.all_of(variant, stream)
        chosen = "none" if "none" in set(runs.probe) else runs.probe.min()
        return runs[runs.probe == chosen].sort_values("seed")

    def all_of(self, variant: str, stream: str) -> pd.DataFrame:
        """The runs of a method on a stream, with and without probes."""
        return self._by_name.get((variant, stream), self.frame.iloc[:0])

    @functools.cached_property
    def _by_name(self) -> dict[tuple[str, str], pd.DataFrame]:
        return dict(iter(self.frame.groupby(["variant", "stream"])))

    def scores(self, variant: str, stream: str, metric: str) -> pd.Series:
        """seed -> value of a metric, for the runs of one cell, or for those with its probe."""
        if metric not in self.frame:
            return pd.Series(dtype=float)
        of = self.all_of if metric.startswith(PROBED) else self.cell
        runs = of(variant, stream).dropna(subset=metric).drop_duplicates("seed", keep="last")
        return runs.set_index("seed")[metric].sort_index()

    def matrices(self, variant: str, stream: str) -> np.ndarray:
        """R of a cell's runs, [n, T, T], in the order of seeds."""
        found = [self.R[run] for run in self.cell(variant, stream).index]
        return np.stack(found) if found else np.empty((0, 1, 1))

    def curve(self, variant: str, stream: str, name: str) -> np.ndarray:
        """A curve of the runs that have it, [n, points], by seed; shorter ones end in NaN."""
        by_run = self.curves.get(name, {})
        runs = self.all_of(variant, stream)
        with_it = runs[runs.index.isin(list(by_run))].drop_duplicates("seed").sort_values("seed")
        return pd.DataFrame([by_run[run] for run in with_it.index]).to_numpy(float)

    def reliability(self, variant: str, streams: Sequence[str]) -> np.ndarray:
        """[STEPS, 3] of core/metrics.py over all seeds and streams; zeros where there is none."""
        found = [[self.curve(variant, s, name).sum(0) for s in streams] for name in RELIABILITY]
        return np.sum([np.stack(one, 1) for one in zip(*found, strict=True) if len(one[0])], axis=0)

    def static_bound(self, stream: str, metric: str = "acc_final") -> float:
        """The best accuracy of any one classifier on a stream; NaN where it was not measured."""
        return float(self.scores(STATIC_BOUND, stream, metric).mean())

    def majority(self, stream: str) -> pd.Series:
        """seed -> the best accuracy of a constant answer; every method has the same test rows."""
        runs = self.frame[self.frame.stream == stream]
        known = runs["majority"].dropna() if "majority" in runs else pd.Series(dtype=float)
        return known.groupby(runs.seed).first()

    def trade_off(self, stream: str) -> float:
        """The best Acc_T on the stream's static trade-off curve (static_bounds.csv), else NaN.

        Only a curve of the very rows and number of segments that ran counts.
        """
        runs, known = self.frame[self.frame.stream == stream], static_bounds()
        here = known.stream_sha256.isin({*runs.stream_sha256, *runs.data_sha256})
        return float(known.acc_final[here & known["T"].isin(runs["T"])].max())

    def reach(self, stream: str) -> float:
        """The best Acc_T measured for any classifier of x alone; NaN where none was measured."""
        return float(pd.Series([self.static_bound(stream), self.trade_off(stream)]).max())

    def standing(self, stream: str) -> str:
        """How close the rows of a stream are to the paper's: original, stand-in, ..."""
        return " and ".join(sorted(set(self.frame[self.frame.stream == stream].standing)))


def is_jittered(setting: str) -> bool:
    return bool(JITTER.search(setting))


def is_short(setting: str) -> bool:
    """Whether only the first segments ran; such runs test no claim."""
    return "max_segments=" in setting


@functools.cache
def static_bounds() -> pd.DataFrame:
    return pd.read_csv(STATIC_BOUNDS)
