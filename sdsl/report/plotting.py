"""The looks of the figures: one colour and dash per method, panels, legends, saving as SVG."""

import io
import itertools
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sdsl.report.names import METHODS, PROTOCOLS, dataset_name, method_name
from sdsl.report.runs import Runs

WIDTH = 7.0  # inches
STYLE = ["default", str(Path(__file__).with_name("figures.mplstyle"))]
COLOURS = {  # the palette of Okabe and Ito, which colour-blind readers can tell apart
    **{"vermilion": "#D55E00", "blue": "#0072B2", "green": "#009E73", "orange": "#E69F00"},
    **{"purple": "#CC79A7", "sky": "#56B4E9", "grey": "#8A8F98", "black": "#1b1b1f"},
}
FAMILIES: dict[str, tuple[Any, str]] = {  # dash and marker
    "baseline": ("-", "o"),
    "ours": ("--", "D"),
    "wide": ((0, (8, 1.5, 1.5, 1.5)), "X"),
    "new": ((0, (6, 1.5)), "*"),
    "later": ("-.", "s"),
    "fixed": ((0, (1, 1)), "v"),
    "labels": (":", "^"),
}
OWN = (0, (3, 1, 1, 1, 1, 1)), "Pvp<h>d"  # a variant of a method, and a user's own


def looks(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour, dash and marker of each: as methods.csv has them, else the next that are free."""
    spare = itertools.cycle(itertools.product(OWN[1], COLOURS))
    found = {}
    for method in methods:
        if row := METHODS.get(method):
            colour, (dash, marker) = row["colour"], FAMILIES[row["family"]]
        else:
            dash, (marker, colour) = OWN[0], next(spare)
        found[method] = {"color": COLOURS[colour], "ls": dash, "marker": marker}
    return found


@dataclass(frozen=True)
class Place:
    """A panel's runs: a stream in a setting."""

    setting: str
    stream: str
    runs: Runs

    @property
    def title(self) -> str:
        protocol = PROTOCOLS.get(self.setting, self.setting)
        return plain(f"{dataset_name(self.stream)}\n{protocol}")


def grid(
    panels: int, columns: int, height: float = 1.15, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, row by row; `height` is that of a row in inches."""
    columns = max(1, min(columns, panels))
    rows = -(-panels // columns)
    figure = Figure(figsize=(WIDTH, rows * height + 0.6), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for empty in axes[panels:]:
        empty.set_axis_off()
    return figure, axes[:panels]


def band(axes: Axes, x: np.ndarray, Y: np.ndarray, shaded: bool, **look: Any) -> None:
    """Mean of Y [n, points], ± std (ddof=1) shaded; a single run has no band."""
    runs, every = pd.DataFrame(Y), max(1, len(x) // 12)
    mean, std = runs.mean(), runs.std(ddof=1)
    # Some twelve markers along a line, where dashes alone would run together.
    axes.plot(x, mean, ms=2.4, markevery=every, **look)
    if len(Y) > 1 and shaded:
        axes.fill_between(x, mean - std, mean + std, color=look["color"], alpha=0.16, lw=0)


def describe(axes: Axes, title: str, ran: bool, x: str, y: str) -> None:
    """Title and labels of a panel; an empty one says why it is empty."""
    axes.set_title(title)
    if not ran:
        axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", color="0.5")
        axes.set(xticks=[], yticks=[])
        return
    place = axes.get_subplotspec()
    axes.set(xlabel=x, ylabel=y if place is not None and place.is_first_col() else "")
    axes.grid(axis="y", lw=0.3, alpha=0.4)
    axes.set_ylim(top=min(1.01, axes.get_ylim()[1]))


def legend(figure: Figure, looks: Mapping[str, dict[str, Any]]) -> None:
    """One entry per method, above the panels."""
    handles = [Line2D([], [], ms=2.8, label=label(m, 40), **look) for m, look in looks.items()]
    longest = max(len(label(method, 40)) for method in looks)
    legend_of(figure, handles, 110 // (6 + longest))


def legend_of(figure: Figure, handles: Sequence[Line2D], columns: int = 4) -> None:
    columns = min(len(handles), columns)
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, handlelength=2.4)


def footnote(figure: Figure, places: Iterable[Place], text: str) -> None:
    """The caption: measure, seeds, and standing of the data."""
    standings: dict[str, list[str]] = {}
    counts = set()
    for place in places:
        names = standings.setdefault(place.runs.standing(place.stream), [])
        if (name := dataset_name(place.stream)) not in names:
            names.append(name)
        here = place.runs.frame[place.runs.frame.stream == place.stream]
        counts |= set(here.groupby("variant").seed.nunique())
    data = "; ".join(f"{', '.join(names)} {standing}" for standing, names in standings.items())
    seeds = " to ".join(str(n) for n in sorted({min(counts), max(counts)})) if counts else "no"
    words = f"{text} Over {seeds} seed{'s' * (counts != {1})}. Data: {data}."
    lines = textwrap.fill(plain(words), int(figure.get_figwidth() * 28))
    figure.supxlabel(lines, fontsize=4.8, color="0.4", x=0.01, ha="left")


def label(method: str, longest: int) -> str:
    """The name of a method, cut where it is long."""
    name = method_name(method)
    return plain(name if len(name) <= longest else f"{name[: longest - 1]}…")


def plain(text: str) -> str:
    """Text without formulas."""
    return text.replace("$", r"\$")


def save(figure: Figure, file: Path) -> None:
    """An SVG; in paths hundredths of a point are enough."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": "sdsl.report"})
    svg = re.sub(r' d="[^"]*"', lambda d: re.sub(r"(\.\d\d)\d+", r"\1", d[0]), text.getvalue())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(map(str.rstrip, svg.splitlines())) + "\n", encoding="utf-8")
