"""Figures against time and noise: Acc_t, memorisation, pseudo-labels, flatness."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from sdsl.report.claims.checks import noise_curve
from sdsl.report.output import plotting
from sdsl.report.output.plotting import absent, band, footnote, grid, legend, seeds
from sdsl.report.runs.names import dataset_name
from sdsl.report.runs.names import methods_in_order as ordered
from sdsl.report.runs.results import Results

# R [n, T, T] -> [n, T]
STEP, RUNNING, PAST, LAST = "step", "running", "past", "last"
READ: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    STEP: lambda R: np.diagonal(R, axis1=1, axis2=2),
    RUNNING: lambda R: np.cumsum(READ[STEP](R), axis=1) / np.arange(1, R.shape[1] + 1),
    PAST: lambda R: np.stack([np.nanmean(R[:, t, : t + 1], axis=1) for t in range(R.shape[1])], 1),
    LAST: lambda R: R[:, -1],
}
AXIS = {
    STEP: ("segment $t$", "$R_{t,t}$"),
    RUNNING: ("segment $t$", "$Acc_t$ so far"),
    PAST: ("segment $t$", "mean of $R_{t,1..t}$"),
    LAST: ("test segment $j$", "$R_{T,j}$"),
}
MEAN = "Mean over {}, band ± std (ddof = 1)."


def over_time(results: Results, methods: Sequence[str], read: str, streams=None) -> Figure:
    """One panel a dataset: the eight in two columns, or those given."""
    streams = list(streams or results.expected())
    figure, axes = grid(-(-len(streams) // 2), min(2, len(streams)))
    shown = [_panel(ax, results, s, methods, read) for ax, s in zip(axes, streams, strict=False)]
    for ax in axes[len(streams) :]:
        ax.set_axis_off()
    return _finish(figure, results, streams, methods, shown)


def ablation(results: Results, methods: Sequence[str], stream: str = "satimage") -> Figure:
    """The paper's pairs: classification (R[t,t]) and memorisation (R[T,j]) on one dataset."""
    figure, axes = grid(1, 2, sharey=True)
    shown = [
        _panel(ax, results, stream, methods, read)
        for ax, read in zip(axes, (STEP, LAST), strict=True)
    ]
    axes[1].set_ylabel("")
    axes[0].set_title(f"{dataset_name(stream)}: classification")
    axes[1].set_title(f"{dataset_name(stream)}: memorisation")
    axes[0].set_ylabel("accuracy")
    axes[0].set_xlabel(AXIS[STEP][0] + ", $R_{t,t}$")
    axes[1].set_xlabel(AXIS[LAST][0] + ", $R_{T,j}$")
    return _finish(figure, results, [stream], methods, shown)


def pseudo_labels(results: Results) -> Figure:
    """Accuracy of the pseudo-labels themselves, which no method ever sees."""
    methods = [m for m in ordered(results.variants()) if m not in ("jt", "oracle_labels")]
    streams = results.expected()
    figure, axes = grid(-(-len(streams) // 2), min(2, len(streams)))
    for ax in axes[len(streams) :]:
        ax.set_axis_off()
    shown: list[set[str]] = []
    for ax, stream in zip(axes, streams, strict=False):
        drawn = set()
        for method in methods:
            points = results.probed(method, stream, "pseudo_label_acc")
            if len(points):
                band(ax, np.arange(1, points.shape[1] + 1), points.to_numpy(), method)
                drawn.add(method)
        _dress(ax, stream, drawn, "segment $t$", "pseudo-label acc.")
        shown.append(drawn)
    return _finish(figure, results, streams, methods, shown)


def flatness(results: Results, streams=("ug_2c_5d", "satimage")) -> Figure:
    """Acc_T of the final model under noise on every parameter; the paper's is the one-sided."""
    figure, axes = grid(2, len(streams), sharex=True, sharey="col")
    methods = ordered(results.variants())
    shown = []
    kinds = {"flatness_one_sided": "U[0, b]", "flatness_symmetric": "U[−b, b]"}
    panels = [(kind, stream) for kind in kinds for stream in streams]
    for ax, (kind, stream) in zip(axes, panels, strict=True):
        drawn = set()
        for method in methods:
            if curve := noise_curve(results, method, stream, kind):
                band(ax, curve[0], results.probed(method, stream, kind).to_numpy(), method)
                drawn.add(method)
        _dress(ax, stream, drawn, "noise bound $b$", "$Acc_T$")
        ax.set_title(f"{dataset_name(stream)}, {kinds[kind]}")
        shown.append(drawn)
    return _finish(figure, results, streams, methods, shown)


def _panel(ax, results: Results, stream: str, methods: Sequence[str], read: str) -> set[str]:
    drawn = set()
    for method in methods:
        if (R := results.matrices(method, stream)) is not None:
            Y = READ[read](R)
            band(ax, np.arange(1, Y.shape[1] + 1), Y, method)
            drawn.add(method)
    _dress(ax, stream, drawn, *AXIS[read])
    return drawn


def _dress(ax, stream: str, drawn: set[str], x: str, y: str) -> None:
    ax.set_title(plotting.plain(dataset_name(stream)))
    if not drawn:
        return absent(ax)
    first_column = ax.get_subplotspec().is_first_col()
    ax.set_ylabel(y if first_column else "")
    ax.set_xlabel(x if ax.get_subplotspec().is_last_row() else "")
    ax.grid(axis="y", lw=0.3, alpha=0.4)
    ax.set_ylim(top=min(1.01, ax.get_ylim()[1]))


def _finish(figure: Figure, results, streams, methods, shown: list[set[str]]) -> Figure:
    legend(figure, [m for m in methods if any(m in drawn for drawn in shown)])
    footnote(figure, results, streams, MEAN.format(seeds(results)))
    return figure
