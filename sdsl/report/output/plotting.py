"""How every figure looks: column width, one look a method, a footnote on the data, SVG and PDF."""

import functools
import io
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from matplotlib import rc_context, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sdsl.report.runs.names import INK, dataset_name, look, method_name
from sdsl.report.runs.results import Results

T = TypeVar("T")
COLUMN = 3.35  # inches: one column of a two-column paper
STYLE = {
    "font.size": 6.5,
    "axes.titlesize": 7,
    "axes.labelsize": 6.5,
    "xtick.labelsize": 6,
    "ytick.labelsize": 6,
    "legend.fontsize": 6.5,
    "axes.linewidth": 0.5,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.major.size": 2,
    "ytick.major.size": 2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.0,
    "axes.titlepad": 3,
    "axes.labelpad": 2,
    "legend.frameon": False,
    **{key: INK for key in ("text.color", "axes.labelcolor", "axes.edgecolor")},
    **{key: INK for key in ("axes.titlecolor", "xtick.color", "ytick.color")},
    "svg.hashsalt": "sdsl",  # the same results give the same bytes
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "mathtext.fontset": "dejavusans",
}


def grid(rows: int, columns: int, width: float = COLUMN, height: float = 1.15, **options):
    """(figure, flat list of axes)."""
    figure = Figure(figsize=(width, rows * height + 0.75), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03, wspace=0.03, hspace=0.04)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


def styled(draw: Callable[..., T]) -> Callable[..., T]:
    """Drawn and saved under STYLE, whatever the reader's matplotlibrc says."""

    @functools.wraps(draw)
    def under_style(*args, **kwargs) -> T:
        with rc_context({**rcParamsDefault, **STYLE, "backend": "agg"}):
            return draw(*args, **kwargs)

    return under_style


def gid(method: str) -> str:
    """An SVG id that the page turns back into the method's name."""
    return f"method-{method.encode().hex()}"


def band(axes: Axes, x: np.ndarray, Y: np.ndarray, method: str) -> None:
    """Mean of Y [n, points] with ± std (ddof=1) shaded; one run has no band."""
    own, mean = look(method), np.nanmean(Y, axis=0)
    (line,) = axes.plot(x, mean, own.dash, color=own.colour, zorder=3 if method == "ours" else 2)
    line.set_gid(gid(method))
    if len(Y) > 1:
        std = np.nanstd(Y, axis=0, ddof=1)
        shade = axes.fill_between(x, mean - std, mean + std, color=own.colour, alpha=0.16, lw=0)
        shade.set_gid(gid(method))


def absent(axes: Axes) -> None:
    """A gap is shown as a gap."""
    axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", va="center", color="0.5")
    axes.set_xticks([])
    axes.set_yticks([])


def legend(figure: Figure, methods: Sequence[str], columns: int = 4) -> None:
    handles = []
    for method in methods:
        own = look(method)
        name = plain(shorten(method_name(method), 40))
        handles.append(Line2D([], [], color=own.colour, ls=own.dash, label=name, gid=gid(method)))
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=min(columns, max(1, len(handles))),
        handlelength=1.8,
        columnspacing=1.2,
        borderaxespad=0.1,
    )


def footnote(figure: Figure, results: Results, streams: Iterable[str], what: str) -> None:
    """What the marks are, how many seeds, and the standing of the data."""
    ran = [s for s in streams if s in results.streams()]
    standing: dict[str, list[str]] = {}
    for stream in ran:
        standing.setdefault(results.standing(stream), []).append(dataset_name(stream))
    all_eight = len(standing) == 1 and len(ran) > 2
    data = "; ".join(f"{'all' if all_eight else ', '.join(n)} {s}" for s, n in standing.items())
    prefixes = set(results.frame.prefix) if len(results.frame) else set()
    setting = " Calibrated prefixes." if prefixes == {"calibrated"} else ""
    text = f"{what}{setting} Data: {data or 'none'}."
    lines = textwrap.fill(text, int(figure.get_figwidth() * 26))
    figure.supxlabel(plain(lines), fontsize=4.8, color="0.4", x=0.01, ha="left")


def seeds(results: Results) -> str:
    """'5 seeds' or '2 to 5 seeds'."""
    plain_runs = results.frame[results.frame.short == ""]
    n = plain_runs.groupby(["variant", "stream"]).seed.nunique()
    if n.empty:
        return "no seeds"
    return f"{n.max()} seeds" if n.min() == n.max() else f"{n.min()} to {n.max()} seeds"


def plain(text: str) -> str:
    return text.replace("$", r"\$")


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


@styled
def save(figure: Figure, folder: Path, name: str) -> str:
    """Writes name.svg and name.pdf; hands back the SVG for the page."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # arranged once for both formats
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "sdsl.report"})
    count = itertools.count()  # a method has several marks, an id only one
    text = re.sub(
        r'id="(method-[0-9a-f]*)"', lambda m: f'id="{m[1]}-{next(count)}"', out.getvalue()
    )
    (folder / f"{name}.svg").write_text(text, encoding="utf-8")
    figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None})
    return text
