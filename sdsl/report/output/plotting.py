"""What all figures share: size and style, one look per method, footnotes, saving as SVG and PDF."""

import textwrap
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sdsl.report.output.looks import INK, look
from sdsl.report.runs.names import CALIBRATED, dataset_name, method_name
from sdsl.report.runs.results import Results

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


@dataclass(frozen=True)
class Grid:
    """A figure with panels, row by row."""

    figure: Figure
    axes: list[Axes]  # one per panel
    empty: list[Axes]  # of the last row, where the panels do not fill it


def grid(
    rows: int, columns: int, width: float = COLUMN, height: float = 1.15, **options: Any
) -> Grid:
    """`height` is that of one row; `options` go to Figure.subplots."""
    figure = Figure(figsize=(width, rows * height + 0.75), layout="constrained")
    layout: Any = figure.get_layout_engine()
    layout.set(w_pad=0.02, h_pad=0.03, wspace=0.03, hspace=0.04)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return Grid(figure, list(axes.flat), [])


def grid_of(panels: int, columns: int = 2, height: float = 1.15, **options: Any) -> Grid:
    """Room for so many panels in rows of `columns`."""
    columns = min(columns, panels)
    made = grid(-(-panels // columns), columns, height=height, **options)
    for axes in made.axes[panels:]:
        axes.set_axis_off()
    return Grid(made.figure, made.axes[:panels], made.axes[panels:])


def style() -> AbstractContextManager[None]:
    """Figures are drawn and saved inside it, whatever the reader's matplotlibrc says."""
    settings: dict[Any, Any] = {**rcParamsDefault, **STYLE, "backend": "agg"}
    return rc_context(settings)


def band(axes: Axes, x: np.ndarray, Y: np.ndarray, method: str) -> None:
    """Mean of Y [n, points] with ± std (ddof=1) shaded; a single run has no band."""
    drawn, mean = look(method), np.nanmean(Y, axis=0)
    height = 3 if method == "ours" else 2  # above the other lines
    line: dict[str, Any] = {"color": drawn.colour, "ls": drawn.family.dash}
    # Some twelve markers along a line, where dashes alone would run together.
    spots: dict[str, Any] = {
        "marker": drawn.family.marker,
        "ms": 2.4,
        "markevery": max(1, len(x) // 12),
    }
    axes.plot(x, mean, zorder=height, **line, **spots)
    if len(Y) > 1:
        std = np.nanstd(Y, axis=0, ddof=1)
        axes.fill_between(x, mean - std, mean + std, color=drawn.colour, alpha=0.16, lw=0)


def not_run(axes: Axes) -> None:
    """An empty panel says why it is empty."""
    axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", va="center", color="0.5")
    axes.set_xticks([])
    axes.set_yticks([])


def legend(figure: Figure, methods: Sequence[str], columns: int = 4) -> None:
    """One line per method, above the panels."""
    handles = []
    for method in methods:
        drawn = look(method)
        line: dict[str, Any] = {"color": drawn.colour, "ls": drawn.family.dash}
        line["marker"] = drawn.family.marker
        handles.append(Line2D([], [], ms=2.8, label=label(method, 40), **line))
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=min(columns, max(1, len(handles))),
        handlelength=1.8,
        columnspacing=1.2,
        borderaxespad=0.1,
    )


def footnote(figure: Figure, results: Results, streams: Iterable[str], what: str) -> None:
    """What the figure shows, the setting if it is not the paper's, and what the data are."""
    ran = [stream for stream in streams if stream in results.streams()]
    datasets: dict[str, list[str]] = {}  # standing -> names
    for stream in ran:
        datasets.setdefault(results.standing(stream), []).append(dataset_name(stream))
    alike = len(datasets) == 1 and len(ran) > 2
    data = "; ".join(
        f"{'all' if alike else ', '.join(names)} {standing}" for standing, names in datasets.items()
    )
    calibrated = set(results.frame.prefix) == {CALIBRATED.id}
    setting = f" {CALIBRATED.name}." if calibrated else ""
    text = f"{what}{setting} Data: {data or 'none'}."
    lines = textwrap.fill(text, int(figure.get_figwidth() * 26))
    figure.supxlabel(plain(lines), fontsize=4.8, color="0.4", x=0.01, ha="left")


def seeds(results: Results) -> str:
    """'5 seeds' or '2 to 5 seeds'."""
    whole = results.frame[results.frame.short == ""]
    n = whole.groupby(["variant", "stream"]).seed.nunique()
    if n.empty:
        return "no seeds"
    return f"{n.max()} seeds" if n.min() == n.max() else f"{n.min()} to {n.max()} seeds"


def label(method: str, longest: int) -> str:
    """The name of a method, cut where it is long."""
    name = method_name(method)
    return plain(name if len(name) <= longest else f"{name[: longest - 1]}…")


def plain(text: str) -> str:
    """Text without formulas."""
    return text.replace("$", r"\$")


def save(figure: Figure, folder: Path, name: str) -> None:
    """Writes name.svg and name.pdf."""
    folder.mkdir(parents=True, exist_ok=True)
    with style():
        layout: Any = figure.get_layout_engine()
        layout.execute(figure)
        figure.set_layout_engine("none")  # arranged once, for both formats
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": "sdsl.report"})
        figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None})
