"""Single numbers that a sentence may name: <!-- kind words -->, with the words as arguments."""

from collections.abc import Callable

import numpy as np

from sdsl.report.claims.book import paper_cell
from sdsl.report.texts.facts import EIGHT, GAP, Facts, shown


def acc_t(facts: Facts, method: str, stream: str) -> str:
    return shown(facts.mean(method, stream, "acc_online"))


def acc_T(facts: Facts, method: str, stream: str) -> str:
    return shown(facts.mean(method, stream, "acc_final"))


def context(facts: Facts, method: str, stream: str) -> str:
    """Acc_T in context."""
    return shown(facts.mean(method, stream, "acc_final_context"))


def paper(facts: Facts, method: str, stream: str) -> str:
    """The paper's Table 2."""
    cell = paper_cell(method, stream)
    return shown(cell.mean) if cell else GAP


def reach(facts: Facts, stream: str) -> str:
    """The best Acc_T of any one classifier that was measured."""
    return shown(facts.literal.reach(stream))


def low(facts: Facts, method: str, stream: str) -> str:
    """Acc_t of the worst seed."""
    return shown(facts.literal.scores(method, stream, "acc_online").min())


def high(facts: Facts, method: str, stream: str) -> str:
    """Acc_t of the best seed."""
    return shown(facts.literal.scores(method, stream, "acc_online").max())


def lowest(facts: Facts, method: str) -> str:
    """The lowest mean Acc_t on the eight streams."""
    return shown(min(facts.mean(method, stream, "acc_online") for stream in EIGHT))


def swaps(facts: Facts, method: str, *streams: str) -> str:
    """'5 of 40': runs with a lasting swap."""
    return "{} of {}".format(*facts.swaps(method, *streams))


def ahead(facts: Facts, first: str, second: str) -> str:
    """'6 of 8': the streams on which the first has the higher mean Acc_t."""
    return _ahead(facts, first, second, "acc_online")


def ahead_T(facts: Facts, first: str, second: str) -> str:
    """The same for Acc_T."""
    return _ahead(facts, first, second, "acc_final")


def _ahead(facts: Facts, first: str, second: str, metric: str) -> str:
    gaps = [facts.mean(first, s, metric) - facts.mean(second, s, metric) for s in EIGHT]
    known = [gap for gap in gaps if not np.isnan(gap)]
    return f"{sum(gap > 0 for gap in known)} of {len(known)}" if known else GAP


def best(facts: Facts, method: str) -> str:
    """'7 of 8': where its mean Acc_t is the best of those that read no labels."""
    return f"{facts.best['acc_online'].get(method, 0)} of {len(EIGHT)}"


NUMBERS: dict[str, Callable[..., str]] = {
    function.__name__: function
    for function in (
        *(acc_t, acc_T, context, paper, reach, low, high, lowest),
        *(swaps, ahead, ahead_T, best),
    )
}
