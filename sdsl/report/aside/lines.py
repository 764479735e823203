"""The figure in context: R_context[T, j] and R[T, j] of the final model, stream by stream."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sdsl.core import metrics
from sdsl.report.output.looks import INK
from sdsl.report.output.plotting import footnote, grid_of, label, plain, seeds
from sdsl.report.runs.names import dataset_name, datasets_in_order, methods_in_order
from sdsl.report.runs.results import Results

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # one per method
CAPTION = "In context: the final model on each test part as one batch, and row by row"


def in_context(results: Results) -> Figure | None:
    """One panel per stream that was tested in context; None if none was."""
    known = results.frame[results.frame.index.isin(list(results.R_context))]
    streams, methods = datasets_in_order(known.stream), methods_in_order(known.variant)
    if not streams:
        return None
    panels = grid_of(len(streams))
    for axes, stream in zip(panels.axes, streams, strict=True):
        axes.set_title(plain(dataset_name(stream)))
        for method, colour in zip(methods, COLOURS * len(methods), strict=False):
            batches, alone = results.in_context(method, stream), results.matrices(method, stream)
            if batches is None or alone is None:
                continue
            for R, dash in ((batches, "-"), (alone, ":")):
                Y = np.nanmean(metrics.final(R), axis=0)  # [T]
                axes.plot(np.arange(1, len(Y) + 1), Y, dash, color=colour, lw=0.9)
        axes.set_xlabel("test segment $j$")
        axes.grid(axis="y", lw=0.3, alpha=0.4)
    lines = [
        Line2D([], [], color=colour, label=label(method, 40))
        for method, colour in zip(methods, COLOURS * len(methods), strict=False)
    ]
    lines.append(Line2D([], [], color=INK, ls="-", label="in context, $R^c_{T,j}$"))
    lines.append(Line2D([], [], color=INK, ls=":", label="row by row, $R_{T,j}$"))
    panels.figure.legend(handles=lines, loc="outside upper center", ncols=3)
    footnote(panels.figure, results, streams, f"Mean over {seeds(results)}.")
    return panels.figure
