"""python -m sdsl.use.alarm_rates [method ...]: how often alarms are raised, on calm streams too.

Writes outputs/alarms.csv; --markdown prints the table of such a file, as sdsl/use/README.md has it.
The calm streams had no part in choosing thresholds.
"""

import argparse
import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sdsl.errors import UserError
from sdsl.use.following import Following
from sdsl.use.method_config import method_config

METHODS = ("st", "ours", "tracker", "scargc")  # of the table; any other on the command line
CALM = range(20, 40)  # seeds; thresholds were set while looking at streams 0 to 19
BUILT = range(5)  # seeds of each kind of stream that is built to raise an alarm
SIZE, STEPS, D, SPREAD = 150, 6, 4, 0.5
APART = np.array([[-2.0, 0, 0, 0], [2.0, 0, 0, 0]])  # [C, D] centres of two classes

Segments = list[tuple[np.ndarray, np.ndarray]]  # (X, y); the first is gold


@dataclass(frozen=True)
class Trigger:
    """A way to build streams that must raise an alarm."""

    says: str  # words of the alarm
    centres: Callable[[int], np.ndarray]  # t -> [C, D]
    shares: Callable[[int], np.ndarray]  # t -> [C]
    at: int  # the step from which it has to be raised


def _even(t: int) -> np.ndarray:
    return np.full(2, 0.5)


TRIGGERS = {
    "low trust in gold": Trigger(
        "low trust in gold", lambda t: APART + t * np.array([0, 0.8, 0, 0]), _even, STEPS
    ),
    "class shares": Trigger(
        "share of",
        lambda t: APART,
        lambda t: _even(t) if t < 4 else np.array([0.9, 0.1]),
        4,
    ),
    "classes on top of each other": Trigger(
        "on top of each other", lambda t: APART * max(0.0, 1 - 0.25 * t), _even, STEPS
    ),
    "unlike anything seen": Trigger(
        "unlike anything", lambda t: APART + (0 if t < 3 else 10), _even, 3
    ),
}


@dataclass(frozen=True)
class Rates:
    """Of one method: what was raised where."""

    method: str
    segments: int  # of calm streams
    false: int  # of them with an alarm
    accuracy: float  # on the calm streams
    rightly_doubted: int  # of the false ones, on streams where the method is right for below 90 %
    caught: dict[str, int]  # alarm -> streams built for it that raised it in time


def built(trigger: Trigger, seed: int) -> Segments:
    """Gaussian classes; what the trigger says sets centres and shares of each segment."""
    rng, segments = np.random.default_rng(seed), []
    for t in range(STEPS + 1):
        y = rng.choice(2, SIZE, p=trigger.shares(t))
        segments.append((rng.normal(0, SPREAD, (SIZE, D)) + trigger.centres(t)[y], y))
    return segments


def calm(seed: int) -> Segments:
    """2 to 5 classes, 2 to 20 features, even and uneven, round and skewed; a third of the streams
    turn by 0.2 radians on their way."""
    rng = np.random.default_rng(seed)
    C, d, n = 2 + seed % 4, (2, 3, 5, 10, 20)[seed % 5], (60, 100, 200, 400)[seed % 4]
    shares = np.full(C, 1 / C) if seed % 3 else np.r_[0.7, np.full(C - 1, 0.3 / (C - 1))]
    y = rng.choice(C, 11 * n, p=shares)
    angle = 2 * np.pi * y / C + np.linspace(0, 0.2 * (seed % 3 == 1), len(y))
    X = rng.normal(0, 0.5, (len(y), d))
    X[:, :2] += 3 * np.c_[np.cos(angle), np.sin(angle)]
    X = np.exp(X / 2) if seed % 2 else X
    return list(zip(np.split(X, 11), np.split(y, 11), strict=True))


def follow(segments: Segments, method: str) -> tuple[list[str], float]:
    """(what each step warns of, the accuracy of all labels)."""
    (X0, y0), *rest = segments
    classes = [str(c) for c in np.unique(y0)]
    model = Following(method_config(method, None, None), X0.astype(np.float32), y0, classes, 0)
    right = np.concatenate([model.step(X.astype(np.float32))[0] == y for X, y in rest])
    return ["; ".join(record.warnings) for record in model.records], float(right.mean())


def rates(method: str, seeds: Iterable[int] = CALM, triggers: Iterable[int] = BUILT) -> Rates:
    """Count the alarms of a method on calm streams and on those built to raise them."""
    followed = [follow(calm(seed), method) for seed in seeds]
    raised = [[text != "" for text in said] for said, _ in followed]
    caught = {}
    for name, trigger in TRIGGERS.items():
        said = [follow(built(trigger, seed), method)[0] for seed in triggers]
        caught[name] = sum(trigger.says in warnings[trigger.at - 1] for warnings in said)
    return Rates(
        method=method,
        segments=sum(map(len, raised)),
        false=sum(map(sum, raised)),
        accuracy=float(np.mean([right for _, right in followed])),
        rightly_doubted=sum(
            sum(one) for one, (_, right) in zip(raised, followed, strict=True) if right < 0.9
        ),
        caught=caught,
    )


def table(found: Sequence[Rates], streams: int = len(BUILT)) -> pd.DataFrame:
    """One row per method; `streams` is how many were built for each alarm."""
    rows = [
        {
            "method": one.method,
            "accuracy": one.accuracy,
            "segments": one.segments,
            "false": one.false,
            "false_below_90": one.rightly_doubted,
            "streams": streams,
            **one.caught,
        }
        for one in found
    ]
    return pd.DataFrame(rows)


def markdown(file: Path) -> str:
    """The table as sdsl/use/README.md shows it."""
    heads = ["method", "accuracy, calm", "false alarms", "of them below 90 % right", *TRIGGERS]
    lines = [f"| {' | '.join(heads)} |", f"|---{'|---:' * (len(heads) - 1)}|"]
    for row in pd.read_csv(file).to_dict("records"):
        cells = [
            f"`{row['method']}`",
            f"{100 * row['accuracy']:.1f} %",
            f"{row['false']} of {row['segments']}",
            str(row["false_below_90"]),
            *(f"{row[name]} of {row['streams']}" for name in TRIGGERS),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sdsl.use.alarm_rates", description=__doc__)
    add = parser.add_argument
    add("methods", nargs="*", metavar="method", help=f"(default: {' '.join(METHODS)})")
    add("--out", type=Path, default=Path("outputs/alarms.csv"), help="(default: %(default)s)")
    add("--markdown", metavar="FILE", type=Path, help="print a saved table")
    args = parser.parse_args(words)
    if args.markdown:
        print(markdown(args.markdown), end="")
        return 0
    logging.getLogger("sdsl.use").setLevel(logging.ERROR)  # the warnings are what is counted
    found: list[Rates] = []
    try:
        for method in args.methods or METHODS:
            one = rates(method)
            found.append(one)
            print(f"{method}: false alarms {one.false} of {one.segments}", flush=True)
            args.out.parent.mkdir(parents=True, exist_ok=True)
            table(found).to_csv(args.out, index=False, float_format="%.4f", lineterminator="\n")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    print(markdown(args.out), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
