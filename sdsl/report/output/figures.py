"""Every figure of the report, in the order of the page."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from sdsl.report.output import curves
from sdsl.report.output import overviews as panels
from sdsl.report.output.plotting import save, styled
from sdsl.report.runs.names import BOUND, METRICS, PAPER, VARIANTS, dataset_name
from sdsl.report.runs.names import methods_in_order as ordered
from sdsl.report.runs.results import Results

PAIR = ("ug_2c_5d", "satimage")  # the two datasets of the paper's detailed figures


@dataclass(frozen=True)
class Picture:
    name: str
    caption: str
    svg: str


def write(results: Results, folder: Path, setting: str) -> list[Picture]:
    """SVG and PDF of every figure that has something to show, under folder."""
    tail = "" if setting == "literal" else f"_{setting}"
    label = "" if setting == "literal" else f" ({setting} prefixes)"
    drawn = styled(lambda: list(_all(results)))()
    return [
        Picture(name + tail, caption + label, save(figure, folder, name + tail))
        for name, caption, figure in drawn
    ]


def _all(results: Results) -> Iterator[tuple[str, str, Figure]]:
    ran, streams = results.variants(), results.expected()
    if not streams:  # none of the paper's datasets: the tables have it all
        return
    paper = [m for m in PAPER if m in ran]
    pair = [s for s in PAIR if s in streams]
    figure = curves.over_time(results, paper, curves.STEP)
    yield "acc_t", "Accuracy at each step, R[t,t] (paper's Figure 6)", figure
    figure = curves.over_time(results, paper, curves.RUNNING)
    yield "acc_t_running", "Acc_t so far: the running mean of R[t,t]", figure
    for metric, name in METRICS.items():
        yield f"runs_{metric}", f"{name} of every single run", panels.strips(results, metric)
    if pair and ran & {"ours_record", "ours_pl"}:
        figure = curves.over_time(results, ["ours", "ours_record", "ours_pl"], curves.STEP, pair)
        yield "robust_labelling", "Robust labelling against two other labelers (Figure 7)", figure
    if "satimage" in streams and "ours_wo_ils" in ran:
        figure = curves.ablation(results, ["ours", "ours_wo_ils"])
        yield "ablation_ils", "Without label semantics (Figure 8)", figure
    figure = curves.over_time(results, paper, curves.LAST)
    yield "memory", "Memorisation: the final model on every segment, R[T,j] (Figure 9)", figure
    figure = curves.over_time(results, paper, curves.PAST)
    yield "past", "Mean accuracy on all segments seen so far", figure
    if "satimage" in streams and "ours_wo_fr" in ran:
        figure = curves.ablation(results, ["ours", "ours_wo_fr"])
        yield "ablation_fr", "Without the flat region (Figure 10)", figure
    if pair and results.curves.get("flatness_one_sided"):
        figure = curves.flatness(results, pair)
        yield "flatness", "Accuracy under noise on the parameters (Figure 11)", figure
    if results.curves.get("pseudo_label_acc"):
        yield "pseudo_labels", "Accuracy of the pseudo-labels", curves.pseudo_labels(results)
    if further := [m for m in ordered(ran) if m not in {*PAPER, *VARIANTS, BOUND}]:
        figure = curves.over_time(results, ["st", "jt", "ours", *further], curves.RUNNING)
        yield "beyond", "Acc_t so far, beside methods that the paper does not have", figure
    for metric, name in METRICS.items():
        if figure := panels.ranks(results, metric):
            yield f"ranks_{metric}", f"Mean ranks by {name}", figure
    for stream in (s for s in streams if s in results.streams()):
        yield f"R_{stream}", f"R on {dataset_name(stream)}", panels.heat_maps(results, stream)
