"""How a method looks in every figure and on the page: colour, and dash and marker by family."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

INK = "#1b1b1f"  # the page replaces it by the colour of its text, for light and dark themes


Dash = str | tuple[int, tuple[float, ...]]


@dataclass(frozen=True)
class Family:
    """Methods that share dash and marker, under matplotlib's and under Plotly's names."""

    name: str
    dash: Dash
    marker: str
    plotly_dash: str
    plotly_marker: str


@dataclass(frozen=True)
class Look:
    """How a method is drawn."""

    colour: str
    family: Family


BASELINE = Family("The paper's baselines", "-", "o", "solid", "circle")
OURS = Family("The paper's method and its variants", "--", "D", "dash", "diamond")
LETTER = Family("The paper to the letter", (0, (8, 1.5, 1.5, 1.5)), "X", "10px,3px,3px,3px", "x")
LATER = Family("Other published methods", "-.", "s", "dashdot", "square")
NEW = Family("New here", (0, (6, 1.5)), "*", "longdash", "star")
LABELS = Family("These read true labels", ":", "^", "dot", "triangle-up")
OWN = Family("Your own", (0, (3, 1, 1, 1, 1, 1)), "P", "longdashdot", "cross")
FAMILIES = (NEW, OURS, LETTER, BASELINE, LATER, LABELS, OWN)

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
ORANGE, SKY, GREEN, BLUE = "#E69F00", "#56B4E9", "#009E73", "#0072B2"
VERMILION, PURPLE, GREY = "#D55E00", "#CC79A7", "#8A8F98"
COLOURS = (VERMILION, BLUE, GREEN, ORANGE, PURPLE, SKY, GREY)
MEMBERS = {  # family -> its methods, each with a colour of its own there
    BASELINE: {"st": INK, "pl_conf": ORANGE, "dann": SKY, "eaml": PURPLE, "record": BLUE},
    OURS: {
        **{"ours": VERMILION, "ours_record": BLUE, "ours_pl": ORANGE},
        **{"ours_wo_ils": PURPLE, "ours_wo_fr": SKY},
    },
    LETTER: {
        **{"ours_literal": VERMILION, "ours_literal_record": BLUE, "ours_literal_pl": ORANGE},
        **{"ours_literal_wo_ils": PURPLE, "ours_literal_wo_fr": SKY},
    },
    NEW: {"tracker": GREEN, "ours_tracker": VERMILION},
    LATER: {"scargc": BLUE, "gst": ORANGE, "cotta": PURPLE, "sar": SKY},
    LABELS: {"jt": GREEN, "oracle_labels": BLUE, "static_bound": GREY},
}
LOOKS = {m: Look(colour, family) for family, own in MEMBERS.items() for m, colour in own.items()}
# A variant of a method, such as 'ours (lookback.size=20)', and a method of your own.
SPARE = [Look(colour, OWN) for colour in COLOURS]
SPARE += [Look(colour, family) for family in FAMILIES for colour in COLOURS]


def look(method: str) -> Look:
    """The look of a method; one that is not listed above gets one that its name decides."""
    return LOOKS.get(method) or SPARE[zlib.crc32(method.encode()) % len(COLOURS)]


def looks(methods: Iterable[str]) -> dict[str, Look]:
    """A look for each, all of them different as long as there are enough."""
    chosen: dict[str, Look] = {}
    for method in methods:
        free = [spare for spare in SPARE if spare not in {*chosen.values(), *LOOKS.values()}]
        wanted = look(method)
        chosen[method] = free[0] if wanted in chosen.values() and free else wanted
    return chosen
