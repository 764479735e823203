"""The sentences and tables that README.md and index.html share, in Markdown or in HTML."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
import pandas as pd

from sdsl.report import names, tables
from sdsl.report.checks import NOT_JUDGED, NOT_RUN, OUT_OF_REACH, REPRODUCED, VERDICTS
from sdsl.report.claims import HELD, held, paper_cell, statements, summary
from sdsl.report.names import METRICS
from sdsl.report.runs import Runs
from sdsl.report.statistics import EQUAL, Ranking, ranking
from sdsl.report.tables import Markdown, decimal

FEW = 3  # names in a headline at most


@dataclass(frozen=True)
class Report:
    """Runs, and everything that was computed from them."""

    runs: Runs
    verdicts: pd.DataFrame  # verdicts.csv
    cells: Mapping[str, pd.DataFrame]  # metric -> its table
    figures: Mapping[str, str]  # name -> caption

    @cached_property
    def settings(self) -> dict[str, Runs]:
        return self.runs.by_setting()

    @cached_property
    def rankings(self) -> dict[tuple[str, str], Ranking]:
        """(setting, metric) -> ranking, where there is something to rank."""
        found = {(s, m): ranking(runs, m) for s, runs in self.settings.items() for m in METRICS}
        return {key: one for key, one in found.items() if one}


class Document:
    """The parts of a document about one setting; its templates call these methods."""

    def __init__(self, report: Report, writer: Markdown, setting: str) -> None:
        self.report, self.w, self.setting = report, writer, setting
        self.runs = report.settings[setting]
        self.verdicts = report.verdicts[report.verdicts.setting == setting]
        self.streams = self.runs.main_streams

    # Sentences

    def headline(self) -> str:
        found = self.report.rankings.get((self.setting, "acc_online"))
        if not found:
            return self._nothing_to_rank()
        alike = [self._method(m) for m in found.alike]
        others = listed(alike) if len(alike) <= FEW else f"{len(alike)} other methods"
        lead = f"; its lead over {others} is not significant" if alike else ""
        return f"{self._method(found.best)} ranks first{lead}."

    def answer(self) -> list[str]:
        """How sure the headline is, where it does not hold, and how many claims hold."""
        online, final = (self.report.rankings.get((self.setting, m)) for m in METRICS)
        said = []
        if online and final:
            n, worst = len(online.streams), online.means[online.best]
            said.append(
                f"By Acc_t, the accuracy on each segment right after learning it, "
                f"{self._method(online.best)} has mean rank {_rank(online)} among "
                f"{len(online.table)} methods that read no labels, on {n} stream{'s' * (n > 1)} "
                "(in brackets: when streams and seeds are redrawn). Its lowest Acc_t is "
                f"{decimal(worst.min())}, on {self._stream(str(worst.idxmin()))}."
            )
            leads = [
                f"{self._stream(stream)} ({self._method(other)} {decimal(ahead)}, {decimal(own)})"
                for stream, other, ahead, own in online.leads
            ]
            if leads:
                said.append(f"Another method leads by {decimal(EQUAL)} or more on {listed(leads)}.")
            said.append(
                "By Acc_T, the accuracy of the last model on all segments, "
                f"{self._method(final.best)} ranks first: mean rank {_rank(final)}."
            )
        return [*said, f"{summary(self.verdicts)}."] if len(self.verdicts) else said

    def _nothing_to_rank(self) -> str:
        rows, shown = self.runs.frame, names.methods_in_order(self.runs.variants)
        scores = [f"{name} {decimal(rows[metric].mean())}" for metric, name in METRICS.items()]
        runs = "One run" if len(rows) == 1 else f"{len(rows)} runs"
        where = listed([self._stream(stream) for stream in self.streams])
        methods = listed([self._method(method) for method in shown])
        if len(shown) > 1:
            return f"{runs} of {methods} on {where}: no two that read no labels ran on all streams."
        return f"{runs} of {methods} on {where}: {listed(scores)}. Run another method to compare."

    def made_by(self) -> str:
        """Which runs, of which code."""
        frame = self.report.runs.frame
        commits = listed(sorted({sha[:7] for sha in frame.git_sha}))
        dirty = int((frame.dirty == "true").sum()) or "none"
        day = datetime.fromtimestamp(frame.started.max() / 1000, UTC).date()
        return (
            f"{len(frame):,} runs, seeds {frame.seed.min()} to {frame.seed.max()}, of code "
            f"{commits}, {dirty} with uncommitted changes, the newest of {day}."
        )

    # Numbers for sentences of a template

    def mean(self, method: str, stream: str, metric: str = "acc_online") -> str:
        return decimal(self._mean(method, stream, metric))

    def paper(self, method: str, stream: str) -> str:
        """Of the paper's Table 2."""
        cell = paper_cell(method, stream)
        return decimal(cell.mean) if cell else tables.GAP

    def reach(self, stream: str) -> str:
        return decimal(self.runs.reach(stream))

    def ahead(self, first: str, second: str, metric: str = "acc_online") -> str:
        """'6 of 8': the streams on which the first method has the higher mean."""
        gaps = [
            self._mean(first, stream, metric) - self._mean(second, stream, metric)
            for stream in self.streams
        ]
        return f"{sum(gap > 0 for gap in gaps)} of {np.isfinite(gaps).sum()}"

    def swaps(self, method: str, *streams: str) -> str:
        """'5 of 40': runs with a lasting swap."""
        runs = [self.runs.cell(method, stream) for stream in streams or self.streams]
        swapped = sum(int(r.lasting_swap.sum()) for r in runs if "lasting_swap" in r)
        return f"{swapped} of {sum(map(len, runs))}"

    # Tables

    def grid(self, metric: str, streams: Sequence[str], short: bool = False) -> str:
        table = self.report.cells[metric]
        return tables.grid(self.w, table[table.setting == self.setting], streams, short)

    def confidence(self, streams: Sequence[str]) -> list[tuple[str, str]]:
        """(title, table) of how sure methods are against how often they are right, by stream."""
        cells = {m: self.report.cells[m] for m in names.CONFIDENCE if m in self.report.cells}
        return [
            (names.CONFIDENCE[metric], self.grid(metric, streams, short=True))
            for metric, table in cells.items()
            if table[(table.setting == self.setting) & table.dataset.isin(streams)].n.any()
        ]

    def ablations(self) -> str:
        """Acc_t of Ours with one thing changed at a time; '' if none ran."""
        runs = self.report.runs.ablated(self.setting)
        if len(runs.variants) < 2:
            return ""
        table = tables.cells({self.setting: runs}, {}, "acc_online")
        return tables.grid(self.w, table, runs.paper_streams or runs.streams, short=True)

    def seeds(self, streams: Collection[str]) -> str:
        """'3 to 5': how many the cells of these streams have."""
        frame = self.runs.frame[self.runs.frame.stream.isin(streams)]
        counts = frame.groupby(["variant", "stream"]).seed.nunique()
        return " to ".join(str(n) for n in sorted({counts.min(), counts.max()}))

    def blocks(self) -> list[list[str]]:
        """Streams that stand side by side."""
        return tables.blocks(self.runs.streams)

    def show(self, table: pd.DataFrame, columns: Collection[str] = ()) -> str:
        """Any table, or some of its columns; text that is very long for a cell is cut."""
        shown = table[list(columns)] if columns else table
        rows = [[self.w.text(_shown(cell)) for cell in row] for row in shown.to_numpy(object)]
        return self.w.table([self.w.text(str(head)) for head in shown], rows)

    def verdict_counts(self) -> str:
        """The claims by verdict, a row for each way in which the streams were run."""
        rows = []
        for setting, found in self.report.verdicts.groupby("setting", sort=False):
            counts = [str((found.verdict == verdict).sum()) for verdict in VERDICTS]
            name = names.PROTOCOLS.get(str(setting), str(setting))
            rows.append([self.w.text(name), str(len(found)), *counts])
        return self.w.table(["", "claims", *VERDICTS], rows)

    def held(self, *words: str) -> str:
        """Under how many of the protocols the claims hold, counted; or one of these counts."""
        counts = held(self.report.verdicts).value_counts()
        if words:
            return str(counts.get(words[0], 0))
        rows = [[self.w.text(name), str(counts.get(name, 0))] for name in HELD]
        return self.w.table(["reproduced", "claims"], rows)

    def claims_in_short(self) -> str:
        """A row per statement of the paper: on how many datasets and metrics it holds."""
        verdicts, rows = self.report.verdicts, []
        shown = [s for s in names.PROTOCOLS if s in set(verdicts.setting)]
        for (where, id_), found in verdicts.groupby(["where", "id"], sort=False):
            row = [str(where), statements()[str(id_)]]
            for setting in shown:
                own = found.verdict[found.setting == setting]
                judged = own[~own.isin([NOT_JUDGED, NOT_RUN])]
                beyond = (own == OUT_OF_REACH).sum()
                more = f", {beyond} out of reach" if beyond else ""
                row.append(f"{(own == REPRODUCED).sum()} of {len(judged)}{more}")
            row.append(_share(found.in_paper[found.setting == found.setting.iloc[0]], "yes"))
            rows.append([self.w.text(cell) for cell in row])
        heads = [names.PROTOCOLS[setting] for setting in shown]
        return self.w.table(["where", "claim", *heads, "in its Table 2"], rows)

    def methods(self) -> str:
        """The methods that read no labels and ran on all streams: accuracy, swaps and cost."""
        rows = []
        for method in names.without_labels(self.runs.variants):
            online, final = ([self._mean(method, s, m) for s in self.streams] for m in METRICS)
            if np.isnan(online).any():
                continue
            costs = [self._milliseconds(method, stream) for stream in self.streams]
            numbers = [float(np.mean(online)), min(online), float(np.mean(final))]
            times = [f"{np.mean(costs):.0f}", f"{max(costs):.0f}"]
            swaps = self.swaps(method).replace(" of ", "/")
            rows.append([self._method(method), *map(decimal, numbers), *times, swaps])
        heads = ["method", "mean Acc_t", "lowest Acc_t", "mean Acc_T", "ms", "most ms", "swaps"]
        return self.w.table(heads, rows)

    def _milliseconds(self, method: str, stream: str) -> float:
        """Labelling and training, per segment and seed."""
        runs = self.runs.cell(method, stream)
        # Seeds that trained side by side all have the time of their job.
        seconds = runs.seconds_train.drop_duplicates().sum()
        return float(1000 * seconds / (len(runs) * runs["T"].iloc[0]))

    def _mean(self, method: str, stream: str, metric: str) -> float:
        return float(self.runs.scores(method, stream, metric).mean())

    def _method(self, method: str) -> str:
        return self.w.text(names.method_name(method))

    def _stream(self, stream: str) -> str:
        return self.w.text(names.dataset_name(stream))


def listed(words: Sequence[str]) -> str:
    """'a, b and c'"""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _rank(found: Ranking) -> str:
    own = found.table.iloc[0]
    return f"{own['rank']:.1f} [{own.low:.1f}, {own.high:.1f}]"


def _share(answers: pd.Series, wanted: str) -> str:
    """'3 of 8' of those that are not empty."""
    known = answers[answers != ""]
    return f"{(known == wanted).sum()} of {len(known)}" if len(known) else ""


def _shown(cell: object) -> str:
    """A number with three decimals, a flag as 'yes' or '', a hash by its first digits."""
    if isinstance(cell, bool):
        return "yes" if cell else ""
    text = decimal(cell) if isinstance(cell, float) else str(cell)
    return text[:12] if len(text) >= 32 and text.isalnum() else text
