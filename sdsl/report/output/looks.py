"""Colours and dashes: a method looks the same in every figure and on the page."""

from dataclasses import dataclass

INK = "#1b1b1f"  # the page replaces it by the colour of its text, for light and dark themes


@dataclass(frozen=True)
class Look:
    """How a method is drawn."""

    colour: str
    dash: str = "-"


# The palette of Okabe and Ito, which colour-blind readers can tell apart.
LOOKS = {
    "ours": Look("#D55E00"),
    "jt": Look("#009E73"),
    "st": Look(INK),
    "pl_conf": Look("#E69F00"),
    "dann": Look("#56B4E9"),
    "eaml": Look("#CC79A7"),
    "record": Look("#0072B2"),
    "ours_record": Look("#0072B2", "--"),
    "ours_pl": Look("#E69F00", "--"),
    "ours_wo_ils": Look("#CC79A7", "--"),
    "ours_wo_fr": Look("#56B4E9", "--"),
    "scargc": Look("#0072B2", "-."),
    "gst": Look("#E69F00", "-."),
    "cotta": Look("#CC79A7", "-."),
    "sar": Look("#56B4E9", "-."),
    "oracle_labels": Look("#009E73", "-."),
}
OTHER_COLOURS = ("#D55E00", "#0072B2", "#E69F00", "#CC79A7", "#009E73", "#56B4E9")


def look(method: str) -> Look:
    """Any other method is dotted, in a colour that its name decides."""
    colour = OTHER_COLOURS[sum(method.encode()) % len(OTHER_COLOURS)]
    return LOOKS.get(method) or Look(colour, ":")
