"""Finished runs in memory: one row a run, R and curves by run id; which runs stand for a cell."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from sdsl.report.runs.names import BOUND, DATASETS

# One cell of a table; the runs of its newest version of code and data count.
CELL = ["variant", "stream", "prefix", "short", "probe"]
WORDS = [  # the columns of runs.csv that are no numbers
    *CELL,
    *("dataset", "method", "labeler", "replay", "group_key", "code_sha256", "git_sha", "dirty"),
    *("data_sha256", "data_source", "data_standing", "stream_sha256", "config_sha256", "bounds"),
]


@dataclass(frozen=True)
class Results:
    """frame: a row a run, index run_id. R: run_id -> [T, T]. curves: name -> run_id -> points."""

    frame: pd.DataFrame
    R: Mapping[str, np.ndarray] = field(default_factory=dict)
    curves: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was left out, and why

    def setting(self, prefix: str) -> "Results":
        """The runs of one setting of the stream: literal or calibrated."""
        frame = self.frame[self.frame.prefix == prefix]
        known = set(frame.index)
        curves = {
            name: {run: points for run, points in found.items() if run in known}
            for name, found in self.curves.items()
        }
        return Results(frame, self.R, curves, self.notes)

    def runs(self, variant: str, stream: str, metric: str = "acc_final") -> pd.Series:
        """seed -> value; runs with a probe stand in where there is none without."""
        key = (variant, stream, metric)
        if key not in self._values:  # 169 claims ask for the same few series
            found = self.cell(variant, stream)
            numbers = found[metric] if metric in found else pd.Series(dtype=float)
            values = pd.Series(numbers.to_numpy(float), found.seed if len(numbers) else [])
            self._values[key] = values.dropna().sort_index()
        return self._values[key]

    @functools.cached_property
    def _values(self) -> dict[tuple[str, str, str], pd.Series]:
        return {}

    def cell(self, variant: str, stream: str) -> pd.DataFrame:
        """The runs of a table's cell, a row a seed."""
        found = self.all_of(variant, stream)
        plain = found[found.probe == "none"]
        if len(plain) or found.empty:
            return plain
        return found[found.probe == found.probe.min()]

    def all_of(self, variant: str, stream: str) -> pd.DataFrame:
        """With and without probes."""
        return self._cells.get((variant, stream), self.frame.iloc[:0])

    @functools.cached_property
    def _cells(self) -> dict[tuple[str, str], pd.DataFrame]:
        return dict(iter(self.frame.groupby(["variant", "stream"])))

    def matrices(self, variant: str, stream: str) -> np.ndarray | None:
        """[n, T, T], by seed; None if there is none."""
        found = [self.R[run] for run in self.cell(variant, stream).sort_values("seed").index]
        return np.stack(found) if found else None

    def probed(self, variant: str, stream: str, curve: str) -> pd.DataFrame:
        """A curve of all runs that have it: a row a seed, a column a point."""
        rows = self.all_of(variant, stream)
        known = self.curves.get(curve, {})
        found = {row.seed: known[run] for run, row in rows.iterrows() if run in known}
        return pd.DataFrame.from_dict(found, orient="index").sort_index()

    def variants(self) -> set[str]:
        return set(self.frame.variant)

    def streams(self) -> set[str]:
        return set(self.frame.stream)

    def expected(self) -> list[str]:
        """The paper's datasets; of a setting that is not the paper's, those that ran."""
        literal = "literal" in set(self.frame.prefix) or self.frame.empty
        return [s for s in DATASETS if literal or s in self.streams()]

    def bound(self, stream: str, metric: str = "acc_final") -> float:
        """The measured static bound of a stream; NaN where it was not measured."""
        return float(self.runs(BOUND, stream, metric).mean())

    def standing(self, stream: str) -> str:
        """original, stand-in, ... of the rows behind a stream; several are all named."""
        return " and ".join(sorted(set(self.frame[self.frame.stream == stream].data_standing)))


def newest(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Of every cell the runs of its newest group, the last of each seed; and what gave way."""
    keep, notes = [], []
    for cell, runs in frame.sort_values(["started", "run_id"]).groupby(CELL, sort=True):
        group = runs.group_key.iloc[-1]
        stands = runs[runs.group_key == group].drop_duplicates("seed", keep="last")
        keep.append(stands)
        older = len(runs) - len(stands)
        if older:
            what = f"{cell[0]} on {cell[1]} ({cell[2]}{', probed' if cell[4] != 'none' else ''})"
            notes.append(
                f"{what}: the {len(stands)} newest of {len(runs)} runs are shown (code "
                f"{stands.code_sha256.iloc[-1][:8]}, config {stands.config_sha256.iloc[-1][:8]}); "
                f"{older} older ones gave way"
            )
    return (pd.concat(keep) if keep else frame), notes
