"""The tables of Acc_T (the paper's Table 2), Acc_t and other metrics, and how text shows them."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

from sdsl.report import names
from sdsl.report.claims import paper_cell
from sdsl.report.names import MAJORITY, METRICS, STATIC_BOUND, in_order
from sdsl.report.runs import FRAGILE, Runs
from sdsl.tracking import PROBED

GAP = "–"  # not run
COLUMNS = 9  # streams side by side: so many are real
REAL = (
    "On real streams gold is by default all of the first segment. Majority is the best constant "
    "answer: an accuracy below it says nothing."
)
PUBLISHED = Path(__file__).with_name("published.csv")  # what others report on the archive's streams


def cells(settings: Mapping[str, Runs], jittered: Mapping[str, Runs], metric: str) -> pd.DataFrame:
    """One row per setting, stream and method."""
    found = [_of_setting(s, runs, jittered.get(s), metric) for s, runs in settings.items()]
    return pd.concat(found, ignore_index=True)


def _of_setting(setting: str, runs: Runs, jittered: Runs | None, metric: str) -> pd.DataFrame:
    rows = []
    methods = names.methods_in_order(runs.variants - {STATIC_BOUND})
    if metric in METRICS and "real" in map(names.family, runs.streams):
        methods.append(MAJORITY)
    for stream in runs.streams:
        bound, standing = runs.static_bound(stream, metric), runs.standing(stream)
        for method in methods:
            values = runs.scores(method, stream, metric)
            if method == MAJORITY and names.family(stream) == "real":
                values = runs.majority(stream)
            moved = (
                jittered.scores(method, stream, metric) - values if jittered else values * np.nan
            )
            paper = paper_cell(method, stream) if metric == "acc_final" else None
            swaps = runs.cell(method, stream).get("lasting_swap", pd.Series(dtype=float))
            rows.append(
                {
                    "setting": setting,
                    "method": method,
                    "dataset": stream,
                    "mean": values.mean(),
                    "std": values.std(ddof=1),
                    "n": len(values),
                    "paper_mean": paper.mean if paper else np.nan,
                    "paper_std": paper.std if paper else np.nan,
                    "static_bound": bound,
                    "swaps": int(swaps.sum()),
                    "moved": moved.abs().max(),  # the seed that jitter moves most
                    "per_seed": " ".join(f"{seed}:{v:.4f}" for seed, v in values.items()),
                    "standing": standing,
                }
            )
    table = pd.DataFrame(rows)
    best = _best(table, -1 if metric in names.CONFIDENCE else 1)
    table["best"] = best & (not metric.startswith(PROBED))  # less may be better
    return table


def _best(table: pd.DataFrame, sign: int) -> np.ndarray:
    """True for the best mean of each stream, and for means that round to it; no label readers.

    sign: 1 where more is better, else -1.
    """
    fair = table[~table.method.map(names.reads_labels) & table["mean"].notna()]
    tops = sign * (sign * fair["mean"]).groupby(fair.dataset).transform("max")
    return table.index.isin(fair.index[np.isclose(fair["mean"], tops, atol=5e-4)])


def csv(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, float_format="%.6f", lineterminator="\n")


def blocks(streams: Sequence[str]) -> list[list[str]]:
    """Streams that are shown side by side: the paper's, the archive's, the real ones, others."""
    families = in_order(map(names.family, streams), dict.fromkeys(("paper", "archive", "real")))
    parts = [[stream for stream in streams if names.family(stream) == own] for own in families]
    return [part[at : at + COLUMNS] for part in parts for at in range(0, len(part), COLUMNS)]


class Markdown:
    """How README.md shows names and tables."""

    def text(self, words: str) -> str:
        """A name as text, whatever characters it holds; underscores in a word are no emphasis."""
        words = re.sub(r"[\\`*|\[\]]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", words)
        return words.replace("<", "&lt;").replace(">", "&gt;")

    def strong(self, words: str) -> str:
        return f"**{words}**"

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Heads and cells are written already."""
        return "\n".join(f"|{'|'.join(line)}|" for line in (heads, ["---"] * len(heads), *rows))


class Html(Markdown):
    """How index.html does."""

    def text(self, words: str) -> str:
        return escape(words)

    def strong(self, words: str) -> str:
        return f"<b>{words}</b>"

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        kind = "prose" if max(len(cell) for row in [heads, *rows] for cell in row) > 80 else "grid"
        head = "".join(f"<th>{cell}</th>" for cell in heads)
        cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
        body = "\n".join(f"<tr>{row}</tr>" for row in cells)
        return f"<div class=wide><table class={kind}><tr>{head}</tr>\n{body}</table></div>"


def grid(w: Markdown, table: pd.DataFrame, streams: Sequence[str], short: bool = False) -> str:
    """Cells of one setting as methods by streams. `short`: means alone, the paper's in brackets."""
    shown, rows = table[table.dataset.isin(streams)], []
    by_stream = shown.drop_duplicates("dataset").set_index("dataset").loc[list(streams)]
    for method, own in shown.groupby("method", sort=False):
        if own.n.any():
            cells = own.set_index("dataset").loc[list(streams)].iterrows()
            texts = [_cell(w, cell, short) for _, cell in cells]
            rows.append([w.text(names.method_name(str(method))), *texts])
    if by_stream.static_bound.notna().any():
        rows.append(["static bound", *map(decimal, by_stream.static_bound)])
    rows.append(["data", *map(w.text, by_stream.standing)])
    return w.table(["method", *(w.text(names.dataset_name(stream)) for stream in streams)], rows)


def _cell(w: Markdown, cell: pd.Series, short: bool) -> str:
    """.549 ± .021 (5), paper .5 ± .1, 2 swaps; or in short .549 (.5)"""
    if not cell.n:
        return GAP
    text = decimal(cell["mean"])
    if not short:
        text += (f" ± {decimal(cell['std'])}" if cell.n > 1 else "") + f" ({cell.n})"
    text = (w.strong(text) if cell.best else text) + " ~" * (cell.moved > FRAGILE)
    if cell.paper_mean == cell.paper_mean:
        paper = decimal(cell.paper_mean)
        text += f" ({paper})" if short else f"<br>paper {paper} ± {decimal(cell.paper_std)}"
    many = "s" if cell.swaps > 1 else ""
    return text + (f"<br>{cell.swaps} swap{many}" if cell.swaps and not short else "")


def decimal(value: float) -> str:
    """0.9363 as .936; a dash for NaN."""
    return GAP if np.isnan(value) else f"{value:.3f}".removeprefix("0")


def about(streams: Sequence[str]) -> str:
    """A remark on a block of streams; '' if there is none."""
    return REAL if {*map(names.family, streams)} == {"real"} else ""


def published(w: Markdown, streams: Sequence[str]) -> str:
    """The accuracies that others report on these streams, in percent; '' if there are none."""
    known = pd.read_csv(PUBLISHED)
    if not set(streams) <= set(known):
        return ""
    rows = [
        [w.text(row["method"]), *(f"{row[s]:.1f}" for s in streams)] for _, row in known.iterrows()
    ]
    return w.table(["published, in percent", *(w.text(s) for s in streams)], rows)
