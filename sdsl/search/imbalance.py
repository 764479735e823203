"""Classes of unequal size: python -m sdsl.search.imbalance [--only METHOD ...] [--markdown FILE]

Runs methods on a family of development streams, without drift, with a little and with more, and
writes accuracy and balanced accuracy of every one to outputs/imbalance.csv: does adapting lose
where there is nothing to adapt to? --only measures some methods again and keeps the rows of the
others; --markdown prints the table of such a file.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.core.confusion import summarise
from sdsl.search.streams import shapes

SEEDS = tuple(range(10, 20))
METHODS = {
    "st": "method=st",
    "ours, equal shares": "method=ours labeler.shares=equal lookback.shares=equal",
    "ours": "method=ours",
    "tracker": "method=tracker",
    "ours_tracker": "method=ours_tracker",
    "record": "method=record",
    "scargc": "method=scargc",
}
STILL, MILD, DRIFT = "still", "mild", "drift"
WANDER = {STILL: 0.0, MILD: 1.5, DRIFT: 5.0}  # how far each class goes, in standard deviations
LARGE = {"segment_size": 1000, "test_size": 300}  # so that gold has a row of every class
HOW_UNEQUAL: dict[str, dict[str, Any]] = {
    "50 / 50": {"shares": [50, 50]},
    "95 / 5": {"shares": [95, 5]},
    "99 / 1": {"shares": [99, 1], **LARGE},
    "2 / 8 / 90": {"shares": [2, 8, 90], "segment_size": 500, "test_size": 150},
    "5 classes": {"shares": [60, 20, 10, 7, 3], "features": 5},
    "5 / 15 / 80 to 80 / 15 / 5": {"shares": [5, 15, 80], "last_shares": [80, 15, 5]},
}


@dataclass(frozen=True)
class Unequal:
    """One stream of the family."""

    shares: str
    drift: str
    words: str


def family() -> list[Unequal]:
    """Every way of being unequal, still and drifting; one of them with mild drift, too."""
    made = []
    for number, (name, knobs) in enumerate(HOW_UNEQUAL.items()):
        classes = len(knobs["shares"])
        for seed, (drift, wander) in zip((200, 300, 400), WANDER.items(), strict=True):
            if drift == MILD and name != "2 / 8 / 90":
                continue
            how: dict[str, Any] = {"segments": 11, "gap": 4, "classes": classes, "wander": wander}
            made.append(Unequal(name, drift, shapes(seed + number, **how | knobs)))
    return made


def score(method: str, stream: Unequal) -> dict[str, str | float]:
    """Means over the seeds."""
    setup = experiment.setup(composed(*f"eval.every=1000 {METHODS[method]} {stream.words}".split()))
    out = experiment.run(setup, SEEDS).outcome
    both = zip(out.confusion, out.final_confusion, strict=True)
    balanced = [summarise(*counts).balanced_acc_online for counts in both]
    right = np.trace(out.confusion.sum(1), axis1=1, axis2=2) / out.confusion.sum((1, 2, 3))
    return {
        "shares": stream.shares,
        "drift": stream.drift,
        "method": method,
        "acc_online": float(right.mean()),
        "balanced_acc_online": float(np.mean(balanced)),
    }


def table(file: Path) -> pd.DataFrame:
    """One row per stream; accuracy and balanced accuracy of every method."""
    rows = pd.read_csv(file)
    wide = rows.pivot(index=["shares", "drift"], columns="method")
    order = [(s.shares, s.drift) for s in family()]
    return wide.loc[[key for key in order if key in wide.index]]


def markdown(file: Path) -> str:
    """The table as outputs/paper/SETTINGS.md shows it: accuracy, balanced accuracy in brackets."""
    wide = table(file)
    lines = [f"| shares | drift | {' | '.join(METHODS)} |", "|---" * (len(METHODS) + 2) + "|"]
    for (shares, drift), row in wide.iterrows():
        cells = [
            f"{_short(row['acc_online', m])} ({_short(row['balanced_acc_online', m])})"
            for m in METHODS
        ]
        lines.append(f"| {shares} | {drift} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m sdsl.search.imbalance", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=METHODS, help="measure these again")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="print a saved table")
    args = parser.parse_args(words)
    if args.markdown:
        print(markdown(args.markdown), end="")
        return
    file = Path("outputs", "imbalance.csv")
    file.parent.mkdir(exist_ok=True)
    asked, rows = args.only or list(METHODS), []
    if args.only and file.exists():
        saved = pd.read_csv(file)
        rows = saved[~saved.method.isin(asked)].to_dict("records")
    for stream in family():
        for method in asked:
            rows.append(score(method, stream))
            print(*rows[-1].values())
            pd.DataFrame(rows).to_csv(file, index=False, float_format="%.4f", lineterminator="\n")
    print(markdown(file), end="")


if __name__ == "__main__":
    main()
