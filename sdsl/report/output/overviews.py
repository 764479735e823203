"""Figures that are no curves: heat maps of R, every run as a dot, mean ranks."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from sdsl.report.claims import comparisons, statistics
from sdsl.report.claims.book import paper_cell
from sdsl.report.output.looks import INK, look
from sdsl.report.output.plotting import footnote, grid, grid_of, label, mark, not_run, plain, seeds
from sdsl.report.runs.names import METRICS, STATIC_BOUND, dataset_name, methods_in_order
from sdsl.report.runs.results import Results

MARKERS = {"-": "o", "--": "o", "-.": "s", ":": "^"}  # by the dash of a look; "--" is hollow
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
        image.set_gid(mark(method))
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
    streams = results.expected_datasets()
    panels = grid_of(len(streams), height=0.35 + 0.105 * len(methods), sharey=True)
    for axes, stream in zip(panels.axes, streams, strict=True):
        axes.set_title(plain(dataset_name(stream)))
        if stream not in results.streams():
            not_run(axes)
            continue
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
    (runs,) = axes.plot(
        values,
        np.full(len(values), row),
        MARKERS[drawn.dash],
        ms=2.8,
        mew=0.7,
        alpha=0.75,
        color=drawn.colour,
        mfc="none" if drawn.dash == "--" else drawn.colour,
    )
    runs.set_gid(mark(method))
    if metric == "acc_final" and (cell := paper_cell(method, stream)):
        axes.plot(cell.mean, row, "|", ms=6, mew=1.1, color=INK)


def ranks(results: Results, metric: str) -> Figure | None:
    """Mean ranks of the paper's methods, each with a bar as long as the Nemenyi distance."""
    methods = comparisons.paper_methods_run(results)
    means = comparisons.means(results, metric, methods)
    if len(methods) < 3 or len(means) < 2:
        return None
    by_method = statistics.mean_ranks(means).sort_values()
    distance = statistics.critical_difference(len(methods), len(means))
    panels = grid(1, 1, height=1.2)
    (axes,) = panels.axes
    for row, (method, rank) in enumerate(by_method.items()):
        axes.plot([rank, rank + distance], [row, row], lw=2.2, color="0.5", alpha=0.3)
        (dot,) = axes.plot(rank, row, "o", ms=4, color=look(method).colour)
        dot.set_gid(mark(method))
    names = [f"{label(method, 40)}  {rank:.2f}" for method, rank in by_method.items()]
    axes.set_yticks(range(len(by_method)), names)
    axes.set_xlim(0.8, len(methods) + 0.2)
    axes.set_ylim(len(by_method) - 0.5, -0.5)
    axes.set_xticks(range(1, len(methods) + 1))
    axes.set_xlabel(f"mean rank by {METRICS[metric]} (1 is best)")
    what = (
        f"{len(means)} datasets, {len(methods)} methods. Each bar starts at a method's mean rank "
        f"and is as long as the Nemenyi distance, {distance:.2f} ranks: methods within it cannot "
        "be told apart from that method."
    )
    footnote(panels.figure, results, list(means.index), what)
    return panels.figure
