"""Draws how a stream's classes move: the rows of five segments, projected to 2-D where d > 2."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sdsl.core.table import Table

TIMES = 5
SHOWN = 400  # rows per panel; more would hide where the classes overlap
# The colours of Okabe and Ito, which colour-blind readers can tell apart; then two more.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B2A800", "#000000"),
    *("#7F7F7F", "#8C510A"),
)


def picture(table: Table, segment_size: int, order: str, path: Path) -> None:
    """Writes one PNG: a row of panels with shared axes, the source in a footnote."""
    segments = len(table.y) // segment_size
    shown = np.linspace(0, segments - 1, min(TIMES, segments)).round().astype(int)
    points, axes_names = project(table.X)
    low, high = np.quantile(points[: segments * segment_size], (0.002, 0.998), axis=0)
    margin = 0.05 * (high - low)
    figure, panels = plt.subplots(
        1, len(shown), figsize=(2.7 * len(shown), 3.5), sharex=True, sharey=True, squeeze=False
    )
    for panel, segment in zip(panels[0], shown, strict=True):
        _panel(panel, points, table.y, segment * segment_size, segment_size)
        panel.set_title(f"segment {segment}", fontsize=10)
        panel.set_xlim(low[0] - margin[0], high[0] + margin[0])
        panel.set_ylim(low[1] - margin[1], high[1] + margin[1])
        panel.set_xlabel(axes_names[0], fontsize=9)
    panels[0, 0].set_ylabel(axes_names[1], fontsize=9)
    figure.suptitle(
        _plain(f"{table.name}: {segments} segments of {segment_size}, order {order}"),
        x=0.01,
        ha="left",
        fontsize=12,
    )
    _legend(figure, table)
    note = f"{table.standing}: {table.source}; SHA-256 {table.sha256[:16]}"
    figure.text(0.01, 0.015, _plain(note), fontsize=7, color="0.4")
    figure.tight_layout(rect=(0, 0.035, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def project(X: np.ndarray) -> tuple[np.ndarray, tuple[str, str]]:
    """[N, 2]: the features themselves where there are two, else the first principal components."""
    if X.shape[1] == 2:
        return X, ("feature 1", "feature 2")
    spread = X.std(axis=0, dtype=np.float64)
    Z = (X - X.mean(axis=0, dtype=np.float64)) / np.where(spread > 0, spread, 1)
    axes = np.linalg.eigh(Z.T @ Z)[1][:, :-3:-1]  # of all rows, so that every panel shares them
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(2)])
    return Z @ axes, ("principal component 1", "principal component 2")


def _panel(panel: Axes, points: np.ndarray, y: np.ndarray, start: int, size: int) -> None:
    """Classes in mixed drawing order, with each class's mean on top."""
    step = max(1, size // SHOWN)
    at = slice(start, start + size, step)
    colours = np.array(COLOURS)[y[at] % len(COLOURS)]
    panel.scatter(points[at, 0], points[at, 1], s=7, c=colours, alpha=0.45, linewidths=0)
    rows, labels = points[start : start + size], y[start : start + size]
    for c in np.unique(labels):
        mean = rows[labels == c].mean(axis=0)
        colour = COLOURS[c % len(COLOURS)]
        panel.scatter(
            mean[0], mean[1], s=55, c=colour, edgecolors="white", linewidths=1.2, zorder=3
        )
    panel.tick_params(labelsize=7)
    panel.grid(alpha=0.25, linewidth=0.5)
    panel.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, table: Table) -> None:
    marks = [
        Line2D([], [], marker="o", linestyle="", markersize=6, color=COLOURS[c % len(COLOURS)])
        for c in range(len(table.classes))
    ]
    names = [_plain(f"class {name}" if len(name) < 4 else name) for name in table.classes]
    columns = min(len(marks), 10)
    figure.legend(
        marks, names, loc="upper right", ncols=columns, fontsize=8, frameon=False, borderpad=0.1
    )


def _plain(text: str) -> str:
    """Text that Matplotlib shows as it is: between two dollar signs it would look for formulas."""
    return text.replace("$", r"\$")
