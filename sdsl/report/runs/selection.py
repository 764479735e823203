"""Which of a store's finished runs are shown, under which name, and what is said of the others."""

from dataclasses import dataclass

import pandas as pd

from sdsl.report.runs.results import CELL


@dataclass(frozen=True)
class Selection:
    """Runs to show, and notes on those left out. Here run_id is a column, not the index."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()

    def without(self, unwanted: pd.Series, why: str) -> "Selection":
        """Leaves out the rows where `unwanted` is true."""
        if not unwanted.any():
            return self
        note = f"{int(unwanted.sum())} {why} are left out"
        return Selection(self.frame[~unwanted], (*self.notes, note))


def name_streams(frame: pd.DataFrame) -> pd.DataFrame:
    """Gives different rows of data different stream names, and short streams their length.

    Of several data under one name, those that most runs used keep the name.
    """
    frame = frame.copy()
    for name, runs in frame.groupby("stream"):
        uses = runs.groupby("stream_sha256").started.agg(["size", "max"])
        most_used = uses.sort_values(["size", "max"]).index[-1]
        for sha256 in uses.index.drop(most_used):
            others = runs[runs.stream_sha256 == sha256]
            label = f"{name} ({others.data_standing.iloc[0]} data {sha256[:8]})"
            frame.loc[others.index, "stream"] = label
    short = frame.short != ""
    frame.loc[short, "stream"] += " (T=" + frame.short[short] + ")"
    return frame


def newest(frame: pd.DataFrame) -> Selection:
    """Of every cell the runs of its newest group (code, config and data), one per seed."""
    kept, notes = [], []
    for _, runs in frame.sort_values(["started", "run_id"]).groupby(CELL, sort=True):
        last = runs.iloc[-1]
        shown = runs[runs.group_key == last.group_key].drop_duplicates("seed", keep="last")
        kept.append(shown)
        if older := len(runs) - len(shown):
            setting = last.prefix if last.probe == "none" else f"{last.prefix}, {last.probe} probe"
            notes.append(
                f"{last.variant} on {last.stream} ({setting}): the {len(shown)} newest of "
                f"{len(runs)} runs are shown (code {last.code_sha256[:8]}, config "
                f"{last.config_sha256[:8]}); {older} older ones are left out"
            )
    return Selection(pd.concat(kept) if kept else frame, tuple(notes))


def never_as_shipped(frame: pd.DataFrame) -> tuple[str, ...]:
    """A note on every method of which all runs have settings that conf/ no longer gives it."""
    notes = []
    for method, runs in frame.groupby("method"):
        if method not in set(frame.variant):
            labels = ", ".join(sorted(set(runs.variant)))
            notes.append(
                f"No run of {method} has the settings that conf/ gives it now, so no claim about "
                f"{method} is tested; there are runs of {labels}"
            )
    return tuple(notes)
