"""Every figure: 6 to 11 as in the paper, and those that it does not have. A function each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from sdsl.core.metrics import accuracy_at
from sdsl.errors import UserError
from sdsl.report import names, plotting
from sdsl.report.checks import ONE_SIDED, SYMMETRIC, noise_curve
from sdsl.report.claims import paper_cell
from sdsl.report.names import METRICS, PAPER_METHODS, PAPER_VARIANTS, STATIC_BOUND
from sdsl.report.plotting import Place, label
from sdsl.report.runs import Runs

Settings = Mapping[str, Runs]
Drawn = tuple[np.ndarray, np.ndarray] | None  # x [points] and y [n, points], if there are any
Points = Callable[[Runs, str, str], Drawn]  # of a method on a stream
DETAILED = ("ug_2c_5d", "satimage")  # the datasets of the paper's detailed figures
FEW = 8  # methods, of which the bands can be told apart


@dataclass(frozen=True)
class Curve:
    """One line per method: its points by seed, and the labels of the axes."""

    points: Points
    x: str
    y: str


def of_R(curve: Callable[[np.ndarray], np.ndarray]) -> Points:
    """A curve that R gives: [n, T, T] -> [n, T]"""
    return lambda runs, method, stream: over_segments(curve(runs.matrices(method, stream)))


def over_segments(Y: np.ndarray) -> Drawn:
    return (np.arange(1, Y.shape[1] + 1), Y) if Y.size else None


def online(R: np.ndarray) -> np.ndarray:
    """R[t, t]: [n, T, T] -> [n, T]"""
    return np.diagonal(R, axis1=1, axis2=2)


def online_mean(R: np.ndarray) -> np.ndarray:
    """The mean of R[1, 1] to R[t, t]: [n, T, T] -> [n, T]"""
    return np.cumsum(online(R), axis=1) / np.arange(1, R.shape[1] + 1)


def noisy(name: str) -> Points:
    """A curve of the flatness probe, over its bounds."""

    def points(runs: Runs, method: str, stream: str) -> Drawn:
        probed = noise_curve(runs, method, stream)
        return (probed.bounds, runs.curve(method, stream, name)) if probed else None

    return points


ONLINE = Curve(of_R(online), "segment $t$", "$R_{t,t}$")
ONLINE_MEAN = Curve(of_R(online_mean), "segment $t$", "$Acc_t$ so far")
FINAL = Curve(of_R(lambda R: R[:, -1]), "test segment $j$", "$R_{T,j}$")
LABELS = Curve(
    lambda runs, *cell: over_segments(runs.curve(*cell, "pseudo_label_acc")),
    *("segment $t$", "pseudo-label acc."),
)


def write(settings: Settings, folder: Path, only: Sequence[str] = ()) -> dict[str, str]:
    """Saves the figures that have something to show, all or `only` some; {name: caption}."""
    if unknown := set(only) - set(FIGURES):
        known = ", ".join(FIGURES)
        raise UserError(f"There is no figure {', '.join(sorted(unknown))}. There are {known}.")
    saved = {}
    for name in only or FIGURES:
        caption, draw = FIGURES[name]
        with style.context(plotting.STYLE):
            if figure := draw(settings):
                plotting.save(figure, folder / f"{file_name(name)}.svg")
                saved[name] = caption
    return saved


def file_name(name: str) -> str:
    return f"figure_{name}" if name.isdigit() else name


def places(settings: Settings, streams: Sequence[str] = ()) -> list[Place]:
    """Every stream in every setting that ran: of the paper's if there are any, or those given."""
    return [
        Place(setting, stream, runs)
        for setting, runs in settings.items()
        for stream in runs.main_streams
        if stream in streams or not streams
    ]


def _lines(
    panels: Sequence[tuple[Place, Curve, str]], methods: Sequence[str], columns: int = 4
) -> Figure | None:
    """A figure of curves, a panel each with its own addition to the title; None if none ran."""
    if not panels:
        return None
    figure, grid = plotting.grid(len(panels), columns)
    looks = plotting.looks(_all_methods(place.runs for place, _, _ in panels))
    shaded, drawn = len(methods) <= FEW, set()
    for axes, (place, curve, more) in zip(grid, panels, strict=True):
        here = set()
        for method in methods:
            if found := curve.points(place.runs, method, place.stream):
                plotting.band(axes, *found, shaded, **looks[method])
                here.add(method)
        plotting.describe(axes, place.title + more, bool(here), curve.x, curve.y)
        drawn |= here
    if not drawn:
        return None
    plotting.legend(figure, {method: looks[method] for method in methods if method in drawn})
    text = "Mean, band ± std (ddof = 1)." if shaded else "Mean."
    plotting.footnote(figure, [place for place, _, _ in panels], text)
    return figure


def _over_time(settings: Settings, curve: Curve, methods: Sequence[str]) -> Figure | None:
    return _lines([(place, curve, "") for place in places(settings)], methods)


def _labelers(settings: Settings) -> Figure | None:
    methods = ["ours", "ours_record", "ours_pl"]
    where = [p for p in places(settings, DETAILED) if p.runs.variants >= set(methods)]
    return _lines([(place, ONLINE, "") for place in where], methods)


def _ablation(settings: Settings, without: str) -> Figure | None:
    """Classification R[t, t] and memorisation R[T, j] on Satimage, with and without a part."""
    where = [p for p in places(settings, ["satimage"]) if without in p.runs.variants]
    curves = {": classification": ONLINE, ": memorisation": FINAL}
    panels = [(place, curve, kind) for place in where for kind, curve in curves.items()]
    return _lines(panels, ["ours", without], columns=2)


def _noise(settings: Settings) -> Figure | None:
    """Acc_T of the final model under noise on every parameter; the paper's noise is one-sided."""
    methods, panels = [*PAPER_METHODS, *PAPER_VARIANTS], []
    for place in places(settings, DETAILED):
        if any(noise_curve(place.runs, m, place.stream) for m in methods):
            for name, noise in ((ONE_SIDED, "U[0, b]"), (SYMMETRIC, "U[−b, b]")):
                curve = Curve(noisy(name), "noise bound $b$", "$Acc_T$")
                panels.append((place, curve, f"\n{noise}"))
    return _lines(panels, methods)


def _others(settings: Settings) -> Figure | None:
    known = {*PAPER_METHODS, *PAPER_VARIANTS, STATIC_BOUND}
    others = [method for method in _all_methods(settings.values()) if method not in known]
    where = [place for place in places(settings) if place.runs.variants & set(others)]
    return _lines([(place, ONLINE_MEAN, "") for place in where], ["st", "jt", "ours", *others])


def _pseudo_labels(settings: Settings) -> Figure | None:
    return _over_time(settings, LABELS, names.without_labels(_all_methods(settings.values())))


def _confidence(settings: Settings) -> Figure | None:
    """Said against right in ten steps, and accuracy against coverage, over all streams."""
    found = [
        (names.PROTOCOLS.get(s, s), method, runs.reliability(method, runs.streams))
        for s, runs in settings.items()
        for method in names.without_labels(runs.variants)
    ]
    found = [one for one in found if one[2].any()]
    if not found:
        return None
    shown, looks = list(dict.fromkeys(s for s, _, _ in found)), plotting.looks(f[1] for f in found)
    figure, panels = plotting.grid(2 * len(shown), 2, height=2.2)
    coverage = np.linspace(0.1, 1, 10)
    for setting, method, table in found:
        left, right = panels[2 * shown.index(setting) :][:2]
        rows, said, true = table.reshape(10, -1, 3).sum(1).T
        some = rows > 0
        left.plot(said[some] / rows[some], true[some] / rows[some], ms=2.4, **looks[method])
        right.plot(coverage, accuracy_at(table, coverage), ms=2.4, **looks[method])
    for i, setting in enumerate(shown):
        left, right = panels[2 * i :][:2]
        left.plot([0, 1], [0, 1], lw=0.5, color="0.6")
        plotting.describe(left, setting, True, "how sure", "right")
        right.set(xlabel="share of rows, the surest first", ylabel="accuracy")
    plotting.legend(figure, looks)
    return figure


def _every_run(settings: Settings, metric: str) -> Figure | None:
    """One dot per run: many results have two clusters, which a mean hides."""
    methods = [method for method in _all_methods(settings.values()) if method != STATIC_BOUND]
    where, looks = places(settings), plotting.looks(_all_methods(settings.values()))
    if not where or not methods:
        return None
    figure, panels = plotting.grid(len(where), 4, height=0.35 + 0.105 * len(methods), sharey=True)
    for axes, place in zip(panels, where, strict=True):
        axes.set_title(place.title)
        for row, method in enumerate(methods):
            values = place.runs.scores(method, place.stream, metric)
            at = np.full(len(values), row)
            axes.plot(values, at, **looks[method] | {"ls": ""}, ms=2.8, mew=0.5, alpha=0.75)
            if metric == "acc_final" and (cell := paper_cell(method, place.stream)):
                axes.plot(cell.mean, row, "|", ms=6, mew=1.1, color="black")
        bound = place.runs.static_bound(place.stream, metric)
        if np.isfinite(bound):
            axes.axvline(bound, lw=0.7, ls=(0, (4, 2)), color="0.45")
        axes.set_yticks(range(len(methods)), [label(m, 26) for m in methods], size=5.2)
        axes.set_ylim(len(methods) - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.grid(axis="x", lw=0.3, alpha=0.4)
    handles = [Line2D([], [], ls="", marker="o", ms=2.6, color="0.4", label="one run")]
    if metric == "acc_final":
        handles.append(Line2D([], [], ls="", marker="|", ms=6, color="k", label="paper's mean"))
    handles.append(Line2D([], [], ls=(0, (4, 2)), lw=0.7, color="0.45", label="static bound"))
    plotting.legend_of(figure, handles)
    plotting.footnote(figure, where, f"{METRICS[metric]} of every run.")
    return figure


def _heat_maps(settings: Settings) -> Figure | None:
    """R, mean over seeds: streams down, methods across."""
    methods = [method for method in _all_methods(settings.values()) if method != STATIC_BOUND]
    where = [place for place in places(settings) if place.runs.variants & set(methods)]
    if not where:
        return None
    columns, size = max(10, len(methods)), 0.92
    height = 0.74 * plotting.WIDTH * len(where) / columns + 0.6
    figure, (axes,) = plotting.grid(1, 1, height)
    norm = BoundaryNorm(np.linspace(0, 1, 41), ncolors=256)
    for row, place in enumerate(where):
        for column, method in enumerate(methods):
            R = place.runs.matrices(method, place.stream)
            if R.size:
                extent = (column, column + size, row + size, row)
                axes.imshow(
                    R.mean(0), "cividis", norm, aspect="auto", interpolation="none", extent=extent
                )
    axes.set(xlim=(0, columns), ylim=(len(where), 0))
    axes.set_xticks(np.arange(len(methods)) + size / 2, [label(m, 26) for m in methods], size=4)
    axes.set_yticks(np.arange(len(where)) + size / 2, [p.title for p in where], size=4)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    for text in axes.get_xticklabels():
        text.set(rotation=35, ha="left", rotation_mode="anchor")
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(axes.images[0], ax=axes, shrink=0.4, aspect=30, pad=0.01)
    bar.set_label("$R_{i,j}$")
    bar.set_ticks([0, 0.5, 1])
    bar.minorticks_off()
    what = "Each square: accuracy after segment i (down) on the test part of segment j (across)."
    plotting.footnote(figure, where, what)
    return figure


def _all_methods(parts: Iterable[Runs]) -> list[str]:
    return names.methods_in_order({method for runs in parts for method in runs.variants})


FIGURES: dict[str, tuple[str, Callable[[Settings], Figure | None]]] = {  # name -> caption, drawing
    "6": (
        "Figure 6: accuracy on each segment right after learning it, R[t, t]",
        lambda settings: _over_time(settings, ONLINE, PAPER_METHODS),
    ),
    "7": ("Figure 7: robust labelling against two other labelers", _labelers),
    "8": ("Figure 8: without label semantics", lambda s: _ablation(s, "ours_wo_ils")),
    "9": (
        "Figure 9: memorisation, the final model on every segment, R[T, j]",
        lambda settings: _over_time(settings, FINAL, PAPER_METHODS),
    ),
    "10": ("Figure 10: without the flat region", lambda s: _ablation(s, "ours_wo_fr")),
    "11": ("Figure 11: accuracy under noise on the parameters", _noise),
    "others": ("Acc_t so far, with methods that the paper does not have", _others),
    "labels": ("Accuracy of the pseudo-labels", _pseudo_labels),
    "runs_acc_t": ("Acc_t of every single run", lambda s: _every_run(s, "acc_online")),
    "runs_acc_T": ("Acc_T of every single run", lambda s: _every_run(s, "acc_final")),
    "confidence": ("How sure against how often right, and the surest rows alone", _confidence),
    "R": ("R of every method on every stream", _heat_maps),
}
