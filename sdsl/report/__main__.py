"""python -m sdsl.report: tables, figures, verdicts and a page from finished runs."""

import argparse
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sdsl.errors import UserError
from sdsl.output import guarded
from sdsl.progress import Parts
from sdsl.report.build import STAGES, build
from sdsl.report.runs import export
from sdsl.report.runs.results import Results


@guarded()
def main(words: Sequence[str] | None = None) -> int:
    """The exit status of a command line."""
    args = _parser().parse_args(words)
    try:
        with Parts("report", 1 + len(STAGES)) as parts:
            parts.next("reading the runs")
            results = _results(args)
            if args.export:
                export.write(results, args.export)
            lines = build(results, args.out, not args.no_figures, parts.next)
        for line in lines:
            print(line)
        if not args.folder:
            print(_page(args.uri, args.experiment))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sdsl.report", description=__doc__)
    add = parser.add_argument
    add(
        "--from",
        dest="folder",
        type=Path,
        nargs="+",
        metavar="FOLDER",
        help="read exported results from these folders, not the store",
    )
    add(
        "--uri",
        default=os.environ.get("MLFLOW_TRACKING_URI"),
        help="the MLflow store (default: $MLFLOW_TRACKING_URI, else ./mlflow.db)",
    )
    add("--experiment", default="sdsl", help="the store's experiment (default: %(default)s)")
    add(
        "--out",
        type=Path,
        default=Path("outputs/report"),
        help="the folder to write to (default: %(default)s)",
    )
    add("--export", type=Path, help="also export the results to this folder, small enough for git")
    add(
        "--tradeoff",
        type=Path,
        default=Path("outputs/paper/tradeoff.csv"),
        help="the static trade-off curves, for runs of a store; erratum.csv is read from the same "
        "folder (default: %(default)s)",
    )
    add("--include-short", action="store_true", help="include runs with stream.max_segments")
    add("--no-figures", action="store_true", help="leave out the figures, which take longest")
    return parser


def _results(args: argparse.Namespace) -> Results:
    if args.folder:
        return export.read_all(args.folder)
    from sdsl.report.runs.gather import gather  # MLflow takes seconds to load

    results = gather(args.uri, args.experiment, args.include_short)
    beside = args.tradeoff.with_name(export.ERRATUM)
    return dataclasses.replace(
        results,
        tradeoff=export.read_measured(args.tradeoff),
        erratum=export.read_measured(beside),
    )


def _page(uri: str | None, experiment: str) -> str:
    """Where mlflow ui shows these runs: a line per configuration."""
    from sdsl.tracking.address import store_uri
    from sdsl.tracking.client import PatientClient
    from sdsl.tracking.looking import look_at

    place = store_uri(uri)
    known = PatientClient(place).get_experiment_by_name(experiment)
    return look_at(place, known.experiment_id, 'tags.kind = "group"')


if __name__ == "__main__":
    sys.exit(main())
