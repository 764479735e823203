"""Every figure of the report, in the order of the page."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from sdsl.report.claims.comparisons import paper_methods_run
from sdsl.report.output import curves, overviews
from sdsl.report.output.plotting import save, style
from sdsl.report.runs.names import (
    LITERAL,
    METRICS,
    PAPER_METHODS,
    PAPER_VARIANTS,
    STATIC_BOUND,
    Setting,
    dataset_name,
    methods_in_order,
)
from sdsl.report.runs.results import Results

DETAILED = ("ug_2c_5d", "satimage")  # the two datasets of the paper's detailed figures


@dataclass(frozen=True)
class Drawing:
    """A figure before it is saved."""

    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Picture:
    """A saved figure."""

    name: str
    caption: str


def write(results: Results, folder: Path, setting: Setting) -> list[Picture]:
    """SVG and PDF of every figure that has something to show."""
    in_setting = "" if setting == LITERAL else f" ({setting.name.lower()})"
    with style():
        drawings = list(_drawings(results))
    pictures = []
    for drawing in drawings:
        name = drawing.name + setting.suffix
        save(drawing.figure, folder, name)
        pictures.append(Picture(name, drawing.caption + in_setting))
    return pictures


def _drawings(results: Results) -> Iterator[Drawing]:
    if not results.paper_streams():  # only streams that the paper does not have: see the tables
        return
    yield from _classification(results)
    yield from _memorisation(results)
    yield from _noise_and_labels(results)
    yield from _comparisons(results)


def _classification(results: Results) -> Iterator[Drawing]:
    """Accuracy while the stream runs."""
    ran, paper = results.variants(), paper_methods_run(results)
    streams = results.paper_streams()
    figure = curves.over_time(results, paper, curves.ONLINE)
    yield Drawing("acc_t", "Accuracy at each step, R[t,t] (the paper's Figure 6)", figure)
    figure = curves.over_time(results, paper, curves.ONLINE_MEAN)
    yield Drawing("acc_t_running", "Acc_t so far: the running mean of R[t,t]", figure)
    for metric, name in METRICS.items():
        figure = overviews.dots(results, metric)
        yield Drawing(f"runs_{metric}", f"{name} of every single run", figure)
    detailed = _detailed(results)
    if detailed and ran & {"ours_record", "ours_pl"}:
        methods = ["ours", "ours_record", "ours_pl"]
        figure = curves.over_time(results, methods, curves.ONLINE, detailed)
        caption = "Robust labelling against two other labelers (Figure 7)"
        yield Drawing("robust_labelling", caption, figure)
    if "satimage" in streams and "ours_wo_ils" in ran:
        figure = curves.ablation(results, ["ours", "ours_wo_ils"])
        yield Drawing("ablation_ils", "Without label semantics (Figure 8)", figure)


def _memorisation(results: Results) -> Iterator[Drawing]:
    """Accuracy on segments of the past."""
    paper = paper_methods_run(results)
    figure = curves.over_time(results, paper, curves.FINAL)
    caption = "Memorisation: the final model on every segment, R[T,j] (Figure 9)"
    yield Drawing("memory", caption, figure)
    figure = curves.over_time(results, paper, curves.PAST_MEAN)
    yield Drawing("past", "Mean accuracy on all segments seen so far", figure)
    if "satimage" in results.paper_streams() and "ours_wo_fr" in results.variants():
        figure = curves.ablation(results, ["ours", "ours_wo_fr"])
        yield Drawing("ablation_fr", "Without the flat region (Figure 10)", figure)


def _noise_and_labels(results: Results) -> Iterator[Drawing]:
    """What probes and labelers logged."""
    detailed = _detailed(results)
    if detailed and results.curves.get("flatness_one_sided"):
        figure = curves.flatness(results, detailed)
        yield Drawing("flatness", "Accuracy under noise on the parameters (Figure 11)", figure)
    if results.curves.get("pseudo_label_acc"):
        figure = curves.pseudo_labels(results)
        yield Drawing("pseudo_labels", "Accuracy of the pseudo-labels", figure)


def _comparisons(results: Results) -> Iterator[Drawing]:
    """Methods that the paper does not have, mean ranks, and R itself."""
    known = {*PAPER_METHODS, *PAPER_VARIANTS, STATIC_BOUND}
    if others := methods_in_order(results.variants() - known):
        figure = curves.over_time(results, ["st", "jt", "ours", *others], curves.ONLINE_MEAN)
        yield Drawing("beyond", "Acc_t so far, with methods that the paper does not have", figure)
    for metric, name in METRICS.items():
        if ranks := overviews.ranks(results, metric):
            yield Drawing(f"ranks_{metric}", f"Mean ranks by {name}", ranks)
    for stream in results.paper_streams():
        figure = overviews.heat_maps(results, stream)
        yield Drawing(f"R_{stream}", f"R on {dataset_name(stream)}", figure)


def _detailed(results: Results) -> list[str]:
    return [stream for stream in DETAILED if stream in results.paper_streams()]
