"""Figures of curves: accuracy over time, memorisation, pseudo-labels, accuracy under noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sdsl.core import metrics
from sdsl.report.claims.noise_checks import ONE_SIDED, SYMMETRIC, noise_curve
from sdsl.report.output.plotting import band, footnote, grid, grid_of, legend, not_run, plain, seeds
from sdsl.report.runs.names import READ_LABELS, dataset_name, methods_in_order
from sdsl.report.runs.results import Results

NOISE = {ONE_SIDED: "U[0, b]", SYMMETRIC: "U[−b, b]"}


@dataclass(frozen=True)
class Curve:
    """A curve that R gives, and the labels of its axes."""

    of: Callable[[np.ndarray], np.ndarray]  # R [n, T, T] -> [n, T]
    x: str
    y: str


ONLINE = Curve(metrics.online, "segment $t$", "$R_{t,t}$")
ONLINE_MEAN = Curve(metrics.online_mean, "segment $t$", "$Acc_t$ so far")
PAST_MEAN = Curve(metrics.past_mean, "segment $t$", "mean of $R_{t,1..t}$")
FINAL = Curve(metrics.final, "test segment $j$", "$R_{T,j}$")


def over_time(
    results: Results, methods: Sequence[str], curve: Curve, streams: Sequence[str] | None = None
) -> Figure:
    """One panel per dataset, in two columns: the paper's datasets, or those given."""
    streams = streams or results.paper_streams()
    panels = grid_of(len(streams))
    drawn = set()
    for axes, stream in zip(panels.axes, streams, strict=True):
        drawn |= _panel(axes, results, stream, methods, curve)
    return _finish(panels.figure, results, streams, methods, drawn)


def ablation(results: Results, methods: Sequence[str], stream: str = "satimage") -> Figure:
    """As in the paper, on one dataset: classification (R[t,t]) and memorisation (R[T,j])."""
    panels = grid(1, 2, sharey=True)
    classification, memorisation = panels.axes
    drawn = _panel(classification, results, stream, methods, ONLINE)
    drawn |= _panel(memorisation, results, stream, methods, FINAL)
    classification.set_title(f"{plain(dataset_name(stream))}: classification")
    classification.set_xlabel(f"{ONLINE.x}, {ONLINE.y}")
    classification.set_ylabel("accuracy")
    memorisation.set_title(f"{plain(dataset_name(stream))}: memorisation")
    memorisation.set_xlabel(f"{FINAL.x}, {FINAL.y}")
    memorisation.set_ylabel("")
    return _finish(panels.figure, results, [stream], methods, drawn)


def pseudo_labels(results: Results) -> Figure:
    """How many of the pseudo-labels are right, which no method gets to see."""
    methods = [m for m in methods_in_order(results.variants()) if m not in READ_LABELS]
    streams = results.paper_streams()
    panels = grid_of(len(streams))
    drawn = set()
    for axes, stream in zip(panels.axes, streams, strict=True):
        here = set()
        for method in methods:
            points = results.curve(method, stream, "pseudo_label_acc")
            if len(points):
                band(axes, np.arange(1, points.shape[1] + 1), points.to_numpy(), method)
                here.add(method)
        _label(axes, stream, bool(here), "segment $t$", "pseudo-label acc.")
        drawn |= here
    return _finish(panels.figure, results, streams, methods, drawn)


def flatness(results: Results, streams: Sequence[str]) -> Figure:
    """Acc_T of the final model under noise on every parameter; the paper's noise is one-sided."""
    panels = grid(2, len(streams), sharex=True, sharey="col")
    methods = methods_in_order(results.variants())
    pairs = [(noise, stream) for noise in NOISE for stream in streams]
    drawn = set()
    for axes, (noise, stream) in zip(panels.axes, pairs, strict=True):
        here = set()
        for method in methods:
            if curve := noise_curve(results, method, stream, noise):
                by_seed = results.curve(method, stream, noise).to_numpy()
                band(axes, curve.bounds, by_seed, method)
                here.add(method)
        _label(axes, stream, bool(here), "noise bound $b$", "$Acc_T$")
        axes.set_title(f"{plain(dataset_name(stream))}, {NOISE[noise]}")
        drawn |= here
    return _finish(panels.figure, results, streams, methods, drawn)


def _panel(
    axes: Axes, results: Results, stream: str, methods: Sequence[str], curve: Curve
) -> set[str]:
    """Draws a dataset; returns the methods that were run on it."""
    drawn = set()
    for method in methods:
        R = results.matrices(method, stream)
        if R is not None:
            Y = curve.of(R)  # [n, T]
            band(axes, np.arange(1, Y.shape[1] + 1), Y, method)
            drawn.add(method)
    _label(axes, stream, bool(drawn), curve.x, curve.y)
    return drawn


def _label(axes: Axes, stream: str, ran: bool, x: str, y: str) -> None:
    axes.set_title(plain(dataset_name(stream)))
    if not ran:
        not_run(axes)
        return
    place = axes.get_subplotspec()
    if place is not None:
        axes.set_ylabel(y if place.is_first_col() else "")
        axes.set_xlabel(x if place.is_last_row() else "")
    axes.grid(axis="y", lw=0.3, alpha=0.4)
    axes.set_ylim(top=min(1.01, axes.get_ylim()[1]))


def _finish(
    figure: Figure,
    results: Results,
    streams: Sequence[str],
    methods: Sequence[str],
    drawn: set[str],
) -> Figure:
    legend(figure, [method for method in methods if method in drawn])
    what = f"Mean over {seeds(results)}, band ± std (ddof = 1)."
    footnote(figure, results, streams, what)
    return figure
