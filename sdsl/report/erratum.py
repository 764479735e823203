"""python -m sdsl.report.erratum: Algorithm 2 as printed, xi carried on and never bounded.

Its runs end when the network's parameters overflow, so a sweep would only list them as failed. This
counts the segments that each seed gets through and writes them to erratum.csv.
"""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.core.finite import NotFinite
from sdsl.output import guarded

FILE = Path("outputs/paper/erratum.csv")
STREAMS = ("satimage", "optdigits", "twonorm")
SEEDS = 5
METHOD = "ours_literal"  # what it is compared with: xi starts from 0 in every iteration


@guarded()
def main(words: Sequence[str] | None = None) -> int:
    """The exit status of a command line."""
    parser = argparse.ArgumentParser(prog="python -m sdsl.report.erratum", description=__doc__)
    add = parser.add_argument
    add("streams", nargs="*", default=list(STREAMS), help=f"datasets (default: {STREAMS})")
    add("--seeds", type=int, default=SEEDS, help="how many, from 0 on (default: %(default)s)")
    add("--out", type=Path, default=FILE, help="the CSV to write (default: %(default)s)")
    args = parser.parse_args(words)
    rows = [measure(stream, seed) for stream in args.streams for seed in range(args.seeds)]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(args.out, index=False, lineterminator="\n")
    return 0


def measure(dataset: str, seed: int, changes: Sequence[str] = ()) -> dict[str, str | int | float]:
    """One seed, until its parameters are no longer finite or the stream ends."""
    words = (f"method={METHOD}", "replay.xi=carried", f"dataset={dataset}", *changes)
    setup = experiment.setup(composed(*words, "eval.every=1000"))
    table = experiment.load(setup)
    stream = experiment.cut(setup, table, [seed])
    learned, online = 0, float("nan")

    def seen(t: int, acc_t: float) -> None:
        nonlocal learned, online
        learned, online = t, acc_t

    with suppress(NotFinite):
        experiment.run_on(setup, stream, seen)
    found: dict[str, str | int | float] = {
        "stream": table.name,
        "stream_sha256": table.digest(),
        "seed": seed,
        "T": stream.T,
        "learned": learned,  # segments, before the one in which the parameters overflow
        "acc_online": np.round(online, 6),  # over those
    }
    print(", ".join(f"{key} {value}" for key, value in found.items() if key != "stream_sha256"))
    return found


if __name__ == "__main__":
    raise SystemExit(main())
