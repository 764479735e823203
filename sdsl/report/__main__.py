"""python -m sdsl.report: finished runs -> outputs/report/ (tables, figures, verdicts, a page)."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sdsl.errors import UserError
from sdsl.report.build import build
from sdsl.report.runs import export as archive


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sdsl.report", description=__doc__)
    add = parser.add_argument
    add("--from", dest="folder", type=Path, help="exported results instead of the store")
    add("--uri", default=os.environ.get("MLFLOW_TRACKING_URI"), help="the store; ./mlflow.db")
    add("--experiment", default="sdsl", help="its experiment (%(default)s)")
    add("--out", type=Path, default=Path("outputs/report"), help="where to (%(default)s)")
    add("--export", type=Path, help="also write the results there, small enough for git")
    add("--include-short", action="store_true", help="also runs with stream.max_segments")
    add("--no-figures", action="store_true", help="tables, verdicts and the page without figures")
    args = parser.parse_args(words)
    try:
        if args.folder:
            results = archive.load(args.folder)
        else:
            from sdsl.report.runs.gather import gather  # MLflow takes seconds to load

            results = gather(args.uri, args.experiment, args.include_short)
        if args.export:
            archive.export(results, args.export)
        for line in build(results, args.out, figures=not args.no_figures):
            print(line)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
