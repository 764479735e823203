"""Figures that are no curves: R heat maps, every run as a dot, mean ranks."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from sdsl.report.claims import comparisons as facts
from sdsl.report.claims import statistics
from sdsl.report.claims.verdicts import paper_cell
from sdsl.report.output.plotting import COLUMN, absent, footnote, gid, grid, plain, seeds, shorten
from sdsl.report.runs.names import BOUND, INK, METRICS, PAPER, dataset_name, look, method_name
from sdsl.report.runs.names import methods_in_order as ordered
from sdsl.report.runs.results import Results

MARKERS = {"-": "o", "--": "o", "-.": "s", ":": "^"}  # dashed ones are hollow


def heat_maps(results: Results, stream: str) -> Figure:
    """R, mean over seeds, of every method that ran on a dataset; the colours mean the same."""
    shown = (m for m in ordered(results.variants() - {BOUND}) if len(results.cell(m, stream)))
    methods = list(shown) or [BOUND]
    columns = min(4, len(methods))
    figure, axes = grid(-(-len(methods) // columns), columns, height=0.84)
    means = {m: np.nanmean(results.matrices(m, stream), axis=0) for m in methods}
    low = min(float(np.nanmin(R)) for R in means.values())
    image = None
    for ax, (method, R) in zip(axes, means.items(), strict=False):
        image = ax.imshow(
            R,
            cmap="cividis",
            vmin=np.floor(10 * low) / 10,
            vmax=1,
            interpolation="none",
            extent=(0.5, len(R) + 0.5, len(R) + 0.5, 0.5),
        )
        image.set_gid(gid(method))
        ax.set_title(plain(shorten(method_name(method), 18)), fontsize=6)
        ax.set_xticks([1, len(R)])
        ax.set_yticks([1, len(R)])
        ax.tick_params(length=1, pad=1, labelsize=5)
    for ax in axes[len(methods) :]:
        ax.set_axis_off()
    bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=30, pad=0.02)
    bar.set_label("$R_{i,j}$")
    bar.outline.set_visible(False)
    figure.suptitle(
        f"{plain(dataset_name(stream))}: after segment $i$ (down), on segment $j$", size=7
    )
    footnote(figure, results, [stream], f"Mean over {seeds(results)}.")
    return figure


def strips(results: Results, metric: str) -> Figure:
    """Every run of every method: results are bimodal, and a mean hides it."""
    methods = [m for m in ordered(results.variants()) if m != BOUND]
    streams = results.expected()
    rows = -(-len(streams) // 2)
    figure, axes = grid(rows, min(2, len(streams)), height=0.35 + 0.105 * len(methods), sharey=True)
    for ax in axes[len(streams) :]:
        ax.set_axis_off()
    for ax, stream in zip(axes, streams, strict=False):
        ax.set_title(plain(dataset_name(stream)))
        if stream not in results.streams():
            absent(ax)
            continue
        for row, method in enumerate(methods):
            values = results.runs(method, stream, metric)
            own = look(method)
            (dots,) = ax.plot(
                values,
                np.full(len(values), row),
                MARKERS[own.dash],
                ms=2.8,
                mew=0.7,
                alpha=0.75,
                color=own.colour,
                mfc="none" if own.dash == "--" else own.colour,
            )
            dots.set_gid(gid(method))
            if metric == "acc_final" and (cell := paper_cell(method, stream)):
                ax.plot(cell[0], row, "|", ms=6, mew=1.1, color=INK)
        bound = results.bound(stream, metric)
        if np.isfinite(bound):
            ax.axvline(bound, lw=0.7, ls=(0, (4, 2)), color="0.45")
        ax.set_yticks(
            range(len(methods)), [plain(shorten(method_name(m), 24)) for m in methods], size=5.2
        )
        ax.set_ylim(len(methods) - 0.4, -0.6)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.grid(axis="x", lw=0.3, alpha=0.4)
    handles = [Line2D([], [], ls="", marker="o", ms=2.6, color="0.4", label="a run")]
    if metric == "acc_final":
        handles.append(Line2D([], [], ls="", marker="|", ms=6, color=INK, label="paper's mean"))
    handles.append(Line2D([], [], ls=(0, (4, 2)), lw=0.7, color="0.45", label="static bound"))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    footnote(figure, results, streams, f"{METRICS[metric]} of every run, {seeds(results)}.")
    return figure


def ranks(results: Results, metric: str) -> Figure | None:
    """Mean ranks of the paper's methods; a bar joins those that Nemenyi does not tell apart."""
    methods = [m for m in PAPER if m in results.variants()]
    means = facts.means(results, metric, methods)
    if len(methods) < 3 or len(means) < 2:
        return None
    rank = statistics.mean_ranks(means).sort_values()
    distance = statistics.critical_difference(len(methods), len(means))
    figure, (ax,) = grid(1, 1, width=COLUMN, height=1.2)
    for place, (method, value) in enumerate(rank.items()):
        ax.plot([value, value + distance], [place, place], lw=2.2, color="0.5", alpha=0.3)
        (dot,) = ax.plot(value, place, "o", ms=4, color=look(method).colour)
        dot.set_gid(gid(method))
    names = [f"{plain(method_name(m))}  {value:.2f}" for m, value in rank.items()]
    ax.set_yticks(range(len(rank)), names)
    ax.set_xlim(0.8, len(methods) + 0.2)
    ax.set_ylim(len(rank) - 0.5, -0.5)
    ax.set_xticks(range(1, len(methods) + 1))
    ax.set_xlabel(f"mean rank by {METRICS[metric]} (1 is best)")
    what = (
        f"{len(means)} datasets, {len(methods)} methods. The bar is the Nemenyi distance, "
        f"{distance:.2f} ranks: methods whose dots it covers are not told apart from its own."
    )
    footnote(figure, results, means.index, what)
    return figure
