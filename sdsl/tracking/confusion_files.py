"""The confusion counts of a run as files: of every step as NPY, of the last as CSV and a figure.

All metrics of a run that do not follow from R follow from confusion.npy.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sdsl.core.confusion import recall

COUNTS = "confusion.npy"
MOST = 30  # classes up to which a figure can be read


def write(
    folder: Path, steps: np.ndarray, last: np.ndarray, classes: Sequence[str], title: str
) -> None:
    """steps [T, C, C]: counts on Q_t after step t; last [T, C, C]: on every Q_j after step T."""
    np.save(folder / COUNTS, np.stack([steps, last]).astype(np.int32))
    with (folder / "confusion.csv").open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["true class", *(f"predicted {name}" for name in classes), "recall"])
        for name, counts, share in zip(classes, steps[-1], recall(steps[-1]), strict=True):
            rows.writerow([name, *counts, "" if np.isnan(share) else f"{share:.6g}"])
    if len(classes) <= MOST:
        figure(folder / "confusion.png", steps[-1], classes, title)


def figure(file: Path, counts: np.ndarray, classes: Sequence[str], title: str) -> None:
    """Shares of each true class in colours, counts as numbers; counts [C, C]."""
    from matplotlib.figure import Figure  # half a second, and only here

    C = len(classes)
    share = counts / np.maximum(1, counts.sum(1, keepdims=True))
    side = 0.3 * max(C, 5)
    picture = Figure(figsize=(side + 1.6, side + 1.2))
    axes = picture.add_axes(
        (1.2 / (side + 1.6), 0.7 / (side + 1.2), side / (side + 1.6), side / (side + 1.2))
    )
    axes.imshow(share, cmap="cividis", vmin=0, vmax=1)
    for c, k in np.argwhere(counts > 0):
        colour = "black" if share[c, k] > 0.5 else "white"
        axes.text(k, c, str(counts[c, k]), ha="center", va="center", fontsize=7, color=colour)
    # A dollar sign would start a formula.
    short = [name[:12].replace("$", r"\$") for name in classes]
    # Names are shown as they are: one with $ signs is no formula.
    turned = 90 if C > 5 else 0
    axes.set_xticks(range(C), short, fontsize=7, rotation=turned, parse_math=False)
    axes.set_yticks(range(C), short, fontsize=7, parse_math=False)
    axes.set_xlabel("predicted", fontsize=8)
    axes.set_ylabel("true", fontsize=8)
    picture.suptitle(title, fontsize=8, parse_math=False)
    picture.savefig(file, dpi=100)
