"""python -m sdsl.report [figure=8]: tables, figures, verdicts and a page from finished runs."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sdsl.errors import UserError


def main(words: Sequence[str] | None = None) -> int:
    """The exit status of a command line."""
    args = _parser().parse_args(words)
    from sdsl.report import build, export, figures, store  # pandas and SciPy take a second to load

    try:
        if wrong := [word for word in args.figures if not word.startswith("figure=")]:
            raise UserError(f"'{wrong[0]}' is not understood. Write figure=8 for one figure.")
        only = [word.removeprefix("figure=") for word in args.figures]
        runs = store.merge(args.folder) if args.folder else store.read(args.uri, args.experiment)
        out = args.export or args.out
        if only:
            drawn = figures.write(runs.by_setting(), out / "figures", only)
            for name in only:
                place = out / "figures" / f"{figures.file_name(name)}.svg"
                print(place if name in drawn else f"Figure {name}: no run that it shows.")
            return 0 if drawn else 1
        if args.export:
            export.write(runs, out)
        print("\n".join(build.build(runs, out, not args.no_figures, readme=bool(args.export))))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sdsl.report", description=__doc__)
    add, out = parser.add_argument, Path("outputs/report")
    store = os.environ.get("MLFLOW_TRACKING_URI")
    add("figures", nargs="*", metavar="figure=8", help="make only these figures")
    add("--from", dest="folder", action="append", type=Path, help="read exported runs, not a store")
    add("--uri", default=store, help="the store (default: $MLFLOW_TRACKING_URI, else ./mlflow.db)")
    add("--experiment", default="sdsl", help="the store's experiment (default: %(default)s)")
    add("--out", default=out, type=Path, help="the folder to write to (default: %(default)s)")
    add("--export", type=Path, help="write here instead, with README.md and all runs, for git")
    add("--no-figures", action="store_true", help="leave out the figures, which take longest")
    return parser


if __name__ == "__main__":
    sys.exit(main())
