"""python -m sdsl.report.tradeoff: the static trade-off curve of every stream, from its data."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from hydra.errors import MissingConfigException

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.errors import UserError
from sdsl.output import guarded
from sdsl.report.runs.names import DATASETS, LITERAL, SETTINGS
from sdsl.report.tradeoff import curve

FILE = Path("outputs/paper/tradeoff.csv")


@guarded()
def main(words: Sequence[str] | None = None) -> int:
    """The exit status of a command line."""
    parser = argparse.ArgumentParser(prog="python -m sdsl.report.tradeoff", description=__doc__)
    add = parser.add_argument
    add("streams", nargs="*", default=list(DATASETS), help="datasets (default: the paper's eight)")
    add("--seeds", type=int, default=5, help="splits to average over (default: %(default)s)")
    names = [setting.id for setting in SETTINGS]
    add("--prefix", choices=names, default=LITERAL.id, help="stream.prefix (default: %(default)s)")
    add("--out", type=Path, default=FILE, help="the CSV to complete (default: %(default)s)")
    args = parser.parse_args(words)
    try:
        for stream in args.streams:
            print(add_stream(args.out, stream, args.prefix, args.seeds), flush=True)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def add_stream(file: Path, dataset: str, prefix: str, seeds: int) -> str:
    """Measures one stream and puts it into the file; returns a line for the screen."""
    changes = ("method=static_bound", f"dataset={dataset}", f"stream.prefix={prefix}")
    try:
        setup = experiment.setup(composed(*changes))
    except MissingConfigException:
        known = ", ".join(DATASETS)
        raise UserError(f"conf/dataset has no '{dataset}'. There are {known}, and more.") from None
    table = experiment.load(setup)
    stream = experiment.cut(setup, table, range(seeds))
    with experiment.one_thread():
        points = curve.measure(stream).round(6)
    # What tells this stream from another one of the same name.
    names = {"stream": table.name, "prefix": prefix, "stream_sha256": table.digest()}
    made = points.assign(**names, standing=table.standing)
    made = made[[*names, "standing", *points.columns]]
    if file.exists():
        known = pd.read_csv(file)
        made = pd.concat([known[(known[list(names)] != pd.Series(names)).any(axis=1)], made])
    file.parent.mkdir(parents=True, exist_ok=True)
    made = made.sort_values(["prefix", "stream", "stream_sha256", "model", "weight"])
    made.to_csv(file, index=False, lineterminator="\n")
    front = points[points.front].sort_values("acc_online")
    ends = [f"Acc_t {row.acc_online:.3f}, Acc_T {row.acc_final:.3f}" for row in front.itertuples()]
    return f"{table.name} ({prefix}, {table.standing}): {ends[0]} to {ends[-1]}"


if __name__ == "__main__":
    sys.exit(main())
