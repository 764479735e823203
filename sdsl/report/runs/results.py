"""Finished runs in memory: a table with one row per run, and the R and curves of every run."""

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sdsl.report.runs.names import ARCHIVE, DATASETS, LITERAL, SETTINGS, STATIC_BOUND, Setting

# Columns that name a cell. Runs with equal values here are seeds of one cell of a table.
CELL = ["variant", "stream", "prefix", "short", "probe"]
TEXT_COLUMNS = [  # every other column holds numbers
    *CELL,
    *("dataset", "method", "labeler", "replay", "group_key", "code_sha256", "git_sha", "dirty"),
    *("data_sha256", "data_source", "data_standing", "stream_sha256", "config_sha256", "bounds"),
]
SHAPE_COLUMNS = ["rows", "features", "classes"]  # of the data that ran; NaN where not logged


@dataclass(frozen=True)
class Results:
    """The runs of a store or of an exported folder, or of one setting of them.

    `variant` is the label of a run's method and `stream` that of its data: sdsl.config.naming.
    """

    frame: pd.DataFrame  # one row per run, index run_id
    R: Mapping[str, np.ndarray] = field(default_factory=dict)  # run_id -> [T, T]
    # name -> run_id -> points, for the curves that R does not hold
    curves: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was left out, and why
    environment: str = ""  # every package of the newest run, one per line, as `pip freeze` has it
    # run_id -> [T, T], of runs that were also tested in context
    R_context: Mapping[str, np.ndarray] = field(default_factory=dict)
    configs: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # by group_key
    tradeoff: pd.DataFrame = field(default_factory=pd.DataFrame)  # tradeoff.csv, where there is one
    erratum: pd.DataFrame = field(default_factory=pd.DataFrame)  # erratum.csv, likewise

    def by_setting(self) -> dict[Setting, "Results"]:
        """The runs of every setting that was run."""
        ran = set(self.frame.prefix)
        return {setting: self._of_setting(setting) for setting in SETTINGS if setting.id in ran}

    def _of_setting(self, setting: Setting) -> "Results":
        return self.of(self.frame.prefix == setting.id)

    def paper_and_own(self) -> "Results":
        """Without the archive's streams, which have tables of their own, if there are others."""
        others = ~self.frame.stream.str.startswith(ARCHIVE)
        return self.of(others) if others.any() else self

    def of(self, rows: pd.Series) -> "Results":
        """The runs in the rows of the frame where `rows` is true."""
        frame = self.frame[rows]
        known = set(frame.index)
        curves = {
            name: {run: points for run, points in by_run.items() if run in known}
            for name, by_run in self.curves.items()
        }
        return dataclasses.replace(self, frame=frame, curves=curves)

    def in_place(self, methods: Mapping[str, str]) -> "Results":
        """The same runs, with one method in the place of another: {shown: runs}."""
        frame = self.frame[~self.frame.variant.isin([*methods])]
        shown = frame.variant.replace({runs: name for name, runs in methods.items()})
        return dataclasses.replace(self, frame=frame.assign(variant=shown))

    def scores(self, variant: str, stream: str, metric: str = "acc_final") -> pd.Series:
        """seed -> value of a metric, for the runs of one cell."""
        key = (variant, stream, metric)
        if key not in self._scores:  # 169 claims ask for the same few series
            runs = self.cell(variant, stream)
            numbers = runs[metric] if metric in runs else pd.Series(dtype=float)
            values = pd.Series(numbers.to_numpy(float), runs.seed if len(numbers) else [])
            self._scores[key] = values.dropna().sort_index()
        return self._scores[key]

    @functools.cached_property
    def _scores(self) -> dict[tuple[str, str, str], pd.Series]:
        return {}

    def cell(self, variant: str, stream: str) -> pd.DataFrame:
        """The runs of one cell of a table. Where all runs have a probe, those of one probe."""
        runs = self.with_probes(variant, stream)
        plain = runs[runs.probe == "none"]
        if len(plain) or runs.empty:
            return plain
        return runs[runs.probe == runs.probe.min()]

    def with_probes(self, variant: str, stream: str) -> pd.DataFrame:
        """The runs of a method on a stream, with and without probes."""
        return self._by_name.get((variant, stream), self.frame.iloc[:0])

    @functools.cached_property
    def _by_name(self) -> dict[tuple[str, str], pd.DataFrame]:
        return dict(iter(self.frame.groupby(["variant", "stream"])))

    def matrices(self, variant: str, stream: str) -> np.ndarray | None:
        """R of a cell's runs, [n, T, T], in the order of seeds; None if there is no run."""
        return self._stacked(variant, stream, self.R)

    def in_context(self, variant: str, stream: str) -> np.ndarray | None:
        """R_context of those of a cell's runs that have one."""
        return self._stacked(variant, stream, self.R_context)

    def _stacked(
        self, variant: str, stream: str, matrices: Mapping[str, np.ndarray]
    ) -> np.ndarray | None:
        runs = self.cell(variant, stream).sort_values("seed").index
        found = [matrices[run] for run in runs if run in matrices]
        return np.stack(found) if found else None

    def curve(self, variant: str, stream: str, name: str) -> pd.DataFrame:
        """A curve of all runs that have it: one row per seed, one column per point."""
        by_run = self.curves.get(name, {})
        runs = self.with_probes(variant, stream)
        points = {seed: by_run[run] for run, seed in runs.seed.items() if run in by_run}
        return pd.DataFrame.from_dict(points, orient="index").sort_index()

    def variants(self) -> set[str]:
        return set(self.frame.variant)

    def streams(self) -> set[str]:
        return set(self.frame.stream)

    def expected_datasets(self) -> list[str]:
        """The paper's datasets; of the calibrated setting, which is not the paper's, what ran."""
        literal = LITERAL.id in set(self.frame.prefix) or self.frame.empty
        return [dataset for dataset in DATASETS if literal or dataset in self.streams()]

    def paper_streams(self) -> list[str]:
        """The paper's datasets that ran, in its order."""
        return [dataset for dataset in DATASETS if dataset in self.streams()]

    def static_bound(self, stream: str, metric: str = "acc_final") -> float:
        """The best accuracy of any one classifier on a stream; NaN where it was not measured."""
        return float(self.scores(STATIC_BOUND, stream, metric).mean())

    def front(self, stream: str) -> pd.DataFrame:
        """The static trade-off curve of a stream, by falling Acc_T; empty if it was not measured.

        Only a curve of the very rows that ran counts, whatever the stream is called.
        """
        runs = self.frame[(self.frame.stream == stream) & (self.frame.short == "")]
        if self.tradeoff.empty or runs.empty:
            return pd.DataFrame(columns=["acc_online", "acc_final", "weight"])
        here = self.tradeoff.stream_sha256.isin(set(runs.stream_sha256)) & self.tradeoff.front
        here &= self.tradeoff.prefix.isin(set(runs.prefix))
        return self.tradeoff[here].sort_values("acc_final", ascending=False)

    def reach(self, stream: str) -> float:
        """The best Acc_T measured for any classifier of x alone; NaN where none was measured."""
        ends = [self.static_bound(stream), self.front(stream).acc_final.max()]
        return float(pd.Series(ends, dtype=float).max())

    def standing(self, stream: str) -> str:
        """What the rows behind a stream are: original, stand-in, ...; all, if there are several."""
        return " and ".join(sorted(set(self.frame[self.frame.stream == stream].data_standing)))
