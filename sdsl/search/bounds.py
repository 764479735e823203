"""What the paper's replay makes of true labels: python -m sdsl.search.bounds [--archive]

oracle_labels (true labels of X_t, the paper's replay) against 1-NN on X_t with its true labels:
Acc_t on each stream. Where the first is far below the second, the replay loses what labels give.
Settings are chosen on the development streams and seeds from 10 on alone; the archive is a check.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.core.metrics import summarise
from sdsl.errors import UserError
from sdsl.search import streams

NEAR = 0.02  # how far below 1-NN the replay may be
REPLAY = "method=oracle_labels"
NEAREST = f"{REPLAY} replay=nearest stream.scaler=frozen"
NAMES = ("1cdt", "1cht", "1csurr", "2cdt", "2cht", "4ce1cf", "4cr", "gears_2c_2d")


SEEDS = (10, 11, 12)
KINDS = {  # of streams: name -> overrides
    "development": streams.TRACKER | streams.OURS,
    "held out": streams.HELD_OUT,
    "archive": {name: f"dataset=archive/{name}" for name in NAMES},
}


@dataclass(frozen=True)
class Bound:
    """One stream: Acc_t, means over the seeds."""

    kind: str
    stream: str
    oracle_labels: float
    nearest: float

    @property
    def near(self) -> bool:
        return self.oracle_labels >= self.nearest - NEAR


def bound(kind: str, stream: str, also: Sequence[str] = ()) -> Bound:
    """Both methods on one stream; `also` are overrides for the replay of the paper."""
    where = KINDS[kind][stream].split()
    replayed = acc_t([*REPLAY.split(), *where, *also])
    return Bound(kind, stream, replayed, acc_t([*NEAREST.split(), *where]))


def acc_t(words: Sequence[str]) -> float:
    """Mean over the seeds."""
    trial = experiment.run(experiment.setup(composed("eval.every=1000", *words)), SEEDS)
    return float(sum(summarise(R).acc_online for R in trial.outcome.R) / len(SEEDS))


def table(bounds: Sequence[Bound]) -> pd.DataFrame:
    """One row per stream; `below`: what the replay loses; `near`: whether that is little enough."""
    rows = [vars(b) | {"below": b.nearest - b.oracle_labels, "near": b.near} for b in bounds]
    return pd.DataFrame(rows)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sdsl.search.bounds", description=__doc__)
    add = parser.add_argument
    add("overrides", nargs="*", help="for the paper's replay, for example replay.steps=200")
    add("--held-out", action="store_true", help="the streams set apart instead")
    add("--archive", action="store_true", help="the archive's streams instead")
    add("--only", nargs="+", metavar="STREAM", help="some of the streams")
    add("--out", type=Path, default=Path("outputs/bounds.csv"), help="(default: %(default)s)")
    args = parser.parse_args(words)
    kind = "archive" if args.archive else "held out" if args.held_out else "development"
    names = args.only or list(KINDS[kind])
    if unknown := sorted(set(names) - set(KINDS[kind])):
        known = ", ".join(KINDS[kind])
        parser.error(f"unknown: {', '.join(unknown)}. Streams: {known}")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    found: list[Bound] = []
    try:
        for name in names:
            found.append(bound(kind, name, args.overrides))
            print(f"{name}: {found[-1].oracle_labels:.3f} {found[-1].nearest:.3f}", flush=True)
            table(found).to_csv(args.out, index=False, float_format="%.4f", lineterminator="\n")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    far = [b for b in found if not b.near]
    print(f"{len(found) - len(far)} of {len(found)} streams are within {NEAR} of 1-NN.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
