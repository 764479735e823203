"""Figures that are no curves: heat maps of R, every run as a dot, mean ranks."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from sdsl.report.claims.book import paper_cell
from sdsl.report.claims.ranking import ranking
from sdsl.report.output.looks import INK, look
from sdsl.report.output.plotting import footnote, grid, grid_of, label, plain, seeds
from sdsl.report.runs.names import METRICS, STATIC_BOUND, dataset_name, methods_in_order
from sdsl.report.runs.results import Results

BOUND_DASH = (0, (4, 2))


def heat_maps(results: Results, stream: str) -> Figure:
    """R, mean over seeds, of every method that ran on a stream; one colour scale for all."""
    ran = [m for m in methods_in_order(results.variants()) if len(results.cell(m, stream))]
    methods = [m for m in ran if m != STATIC_BOUND] or ran
    means = {}
    for method in methods:
        R = results.matrices(method, stream)
        if R is not None:
            means[method] = np.nanmean(R, axis=0)
    low = np.floor(10 * min(float(np.nanmin(R)) for R in means.values())) / 10
    panels = grid_of(len(means), columns=4, height=0.84)
    for axes, (method, R) in zip(panels.axes, means.items(), strict=True):
        ends = (0.5, len(R) + 0.5, len(R) + 0.5, 0.5)
        image = axes.imshow(R, cmap="cividis", vmin=low, vmax=1, interpolation="none", extent=ends)
        axes.set_title(label(method, 18), fontsize=6)
        axes.set_xticks([1, len(R)])
        axes.set_yticks([1, len(R)])
        axes.tick_params(length=1, pad=1, labelsize=5)
    beside = [*panels.axes, *panels.empty]
    bar = panels.figure.colorbar(image, ax=beside, shrink=0.6, aspect=30, pad=0.02)
    bar.set_label("$R_{i,j}$")
    bar.outline.set_visible(False)
    title = f"{plain(dataset_name(stream))}: after segment $i$ (down), on segment $j$"
    panels.figure.suptitle(title, size=7)
    footnote(panels.figure, results, [stream], f"Mean over {seeds(results)}.")
    return panels.figure


def dots(results: Results, metric: str) -> Figure:
    """One dot per run: many results have two clusters, which a mean hides."""
    methods = [m for m in methods_in_order(results.variants()) if m != STATIC_BOUND]
    streams = results.paper_streams()
    panels = grid_of(len(streams), height=0.35 + 0.105 * len(methods), sharey=True)
    for axes, stream in zip(panels.axes, streams, strict=True):
        axes.set_title(plain(dataset_name(stream)))
        for row, method in enumerate(methods):
            _dots_of(axes, results, method, stream, metric, row)
        bound = results.static_bound(stream, metric)
        if np.isfinite(bound):
            axes.axvline(bound, lw=0.7, ls=BOUND_DASH, color="0.45")
        axes.set_yticks(range(len(methods)), [label(m, 24) for m in methods], size=5.2)
        axes.set_ylim(len(methods) - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.grid(axis="x", lw=0.3, alpha=0.4)
    handles = [Line2D([], [], ls="", marker="o", ms=2.6, color="0.4", label="one run")]
    if metric == "acc_final":
        handles.append(Line2D([], [], ls="", marker="|", ms=6, color=INK, label="paper's mean"))
    handles.append(Line2D([], [], ls=BOUND_DASH, lw=0.7, color="0.45", label="static bound"))
    panels.figure.legend(handles=handles, loc="outside upper center", ncols=3)
    what = f"{METRICS[metric]} of every run, {seeds(results)}."
    footnote(panels.figure, results, streams, what)
    return panels.figure


def _dots_of(axes: Axes, results: Results, method: str, stream: str, metric: str, row: int) -> None:
    """The runs of one method, and the paper's mean."""
    values = results.scores(method, stream, metric)
    drawn = look(method)
    (runs,) = axes.plot(values, np.full(len(values), row), ls="", alpha=0.75, ms=2.8, mew=0.5)
    runs.set(marker=drawn.family.marker, color=drawn.colour)
    if metric == "acc_final" and (cell := paper_cell(method, stream)):
        axes.plot(cell.mean, row, "|", ms=6, mew=1.1, color=INK)


def ranks(results: Results, metric: str) -> Figure | None:
    """Mean ranks of all methods that read no labels, with their bootstrap intervals."""
    found = ranking(results, metric)
    if found is None or len(found.streams) < 2:
        return None
    panels = grid(1, 1, height=0.45 + 0.12 * len(found.table))
    (axes,) = panels.axes
    for row, (method, own) in enumerate(found.table.iterrows()):
        drawn = look(str(method))
        axes.plot([own.low, own.high], [row, row], lw=2.2, color=drawn.colour, alpha=0.3)
        axes.plot(own["rank"], row, drawn.family.marker, ms=4, color=drawn.colour)
    names = [f"{label(m, 40)}  {rank:.2f}" for m, rank in found.table["rank"].items()]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(left=0.8)
    axes.grid(axis="x", lw=0.3, alpha=0.4)
    axes.set_xlabel(f"mean rank by {METRICS[metric]} (1 is best)")
    what = (
        f"{len(found.streams)} streams, {len(names)} methods that read no labels. Bars: the middle "
        "95 % when streams, and seeds within them, are redrawn."
    )
    footnote(panels.figure, results, found.streams, what)
    return panels.figure
