"""Accuracy of the tracker's final model in context, by the rows in a batch: context.csv and .svg.

A batch holds rows of one test part, or of two that are half the stream apart, half of it from each.
Every batch is predicted without labels; a batch of one row has no context but itself.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor

from sdsl import experiment
from sdsl.bench.rows import Row
from sdsl.config.compose import composed
from sdsl.core.engine import Outcome
from sdsl.core.evaluation import InContext

STREAMS = (
    *("mg_2c_2d", "ug_2c_2d", "ug_2c_3d", "ug_2c_5d"),
    *("optdigits", "satimage", "spam", "twonorm"),
)
SIZES = (1, 10, 30, 100)
MOST = 100  # rows of a test part that are asked
SEEDS = (0, 1, 2, 3, 4)


def measure(tiny: bool, out: Path) -> list[Row]:
    streams, seeds = (STREAMS[-1:], SEEDS[:1]) if tiny else (STREAMS, SEEDS)
    also = ("stream.max_segments=4", "learner.pretrain.steps=20") if tiny else ()
    found: list[pd.DataFrame] = []
    out.mkdir(parents=True, exist_ok=True)
    for stream in streams:
        found.append(accuracies(stream, seeds, also))
        frame = pd.concat(found)
        frame.to_csv(out / "context.csv", index=False, float_format="%.4f", lineterminator="\n")
    draw(frame).savefig(out / "context.svg", metadata={"Date": None})
    means = frame.groupby(["mixed", "rows"]).accuracy.mean()
    rows = [_row(stream, part) for stream, part in frame.groupby("stream", sort=False)]
    return [*rows, _row("mean of the streams", means.reset_index())]


def accuracies(stream: str, seeds: Sequence[int], also: Sequence[str] = ()) -> pd.DataFrame:
    """A line per size and kind of batch: mean and standard deviation (ddof = 1) over the seeds."""
    words = "method=tracker", f"dataset={stream}", "eval.every=1000", *also
    setup = experiment.setup(composed(*words))
    cut = experiment.cut(setup, experiment.load(setup), seeds)
    outcome = experiment.run_on(setup, cut).outcome
    X, y = cut.tests()  # [S, T, q, d], [S, T, q]
    lines = []
    for mixed in (False, True):
        for size in SIZES:
            if right := list(_right(outcome, X, y, size, mixed)):
                by_seed = torch.cat([hit.flatten(1) for hit in right], 1).double().mean(1)
                std = float(by_seed.std()) if len(seeds) > 1 else float("nan")
                lines.append((stream, size, mixed, float(by_seed.mean()), std, len(seeds)))
    heads = ["stream", "rows", "mixed", "accuracy", "std", "seeds"]
    return pd.DataFrame(lines, columns=heads)


def _right(outcome: Outcome, X: Tensor, y: Tensor, size: int, mixed: bool) -> Iterator[Tensor]:
    """Hits [S, B, size] of all batches of a test part; nothing where the part is too small."""
    classifier, T = outcome.learner.classifier, X.shape[1]
    assert isinstance(classifier, InContext)  # the tracker's is
    for j in range(T):
        if made := list(batches(X, y, j, size, mixed)):
            x, truth = (torch.stack(part, 1) for part in zip(*made, strict=True))
            scaled = outcome.scaler(x.flatten(1, 2)).view_as(x)  # [S, B, size, d]
            yield classifier.context(scaled) == truth


def batches(
    X: Tensor, y: Tensor, j: int, size: int, mixed: bool
) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows [S, size, d] and labels of test part j; if mixed, half of each from the part across."""
    T, q = X.shape[1:3]
    if mixed and size == 1:
        return
    far = (j + T // 2) % T
    own = size - size // 2 if mixed else size
    for at in range(0, min(q, MOST) - size + 1, size):
        parts = [(j, at, at + own)] + ([(far, at + own, at + size)] if mixed else [])
        x = torch.cat([X[:, k, a:b] for k, a, b in parts], 1)
        yield x, torch.cat([y[:, k, a:b] for k, a, b in parts], 1)


def draw(frame: pd.DataFrame) -> Figure:
    """One panel per stream: solid for batches of one segment, dotted for batches of two."""
    streams = list(frame.stream.unique())
    figure = Figure(figsize=(7, 1.6 * -(-len(streams) // 4) + 0.4), layout="constrained")
    panels = figure.subplots(-(-len(streams) // 4), min(4, len(streams)), squeeze=False)
    for axes in panels.flat[len(streams) :]:
        axes.set_axis_off()
    for axes, stream in zip(panels.flat, streams, strict=False):
        for mixed, dash, name in ((False, "o-", "one segment"), (True, "s:", "two segments")):
            part = frame[(frame.stream == stream) & (frame.mixed == mixed)]
            axes.errorbar(part["rows"], part.accuracy, part["std"], fmt=dash, ms=3, label=name)
        axes.set_xscale("log")
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.minorticks_off()
        axes.set_title(stream, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(axis="y", lw=0.3, alpha=0.5)
    figure.supxlabel("rows in a batch", fontsize=8)
    figure.supylabel("accuracy of the final model", fontsize=8)
    handles, names = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=2, fontsize=8)
    return figure


def _row(stream: str, part: pd.DataFrame) -> Row:
    cells = [
        f"{'two segments' if mixed else 'one segment'} "
        + ", ".join(f"{line.rows}: {line.accuracy:.3f}" for line in lines.itertuples())
        for mixed, lines in part.groupby("mixed")
    ]
    raw = {"accuracy": part[["rows", "mixed", "accuracy"]].to_dict("records")}
    return Row(stream, "; ".join(cells), raw=raw)
