"""python -m sdsl.report.texts: writes the numbers of an exported folder into the Markdown texts."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sdsl.errors import UserError
from sdsl.output import guarded
from sdsl.report.runs import export
from sdsl.report.texts.facts import Facts
from sdsl.report.texts.marks import renewed

FOLDER = Path("outputs/paper")
TEXTS = (
    "README.md",
    "outputs/paper/README.md",
    "outputs/paper/DETAILS.md",
    "outputs/paper/bench/README.md",
    "sdsl/use/README.md",
    "sweeps/README.md",
)


@guarded()
def main(words: Sequence[str] | None = None) -> int:
    """The exit status of a command line."""
    parser = argparse.ArgumentParser(prog="python -m sdsl.report.texts", description=__doc__)
    add = parser.add_argument
    add("folder", type=Path, nargs="?", default=FOLDER, help="the export (default: %(default)s)")
    add(
        "--texts",
        type=Path,
        nargs="+",
        default=[Path(name) for name in TEXTS],
        help=f"the files to renew (default: {', '.join(TEXTS)})",
    )
    args = parser.parse_args(words)
    try:
        facts = Facts.of(export.read(args.folder), args.folder)
        for file in args.texts:
            print(f"{file}: {'renewed' if renew(file, facts) else 'unchanged'}")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def renew(file: Path, facts: Facts) -> bool:
    """Whether anything changed."""
    try:
        before = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error}). Run this where the repository's README.md is, or "
            "name files with --texts."
        ) from None
    after = renewed(before, facts)
    file.write_text(after, encoding="utf-8")
    return after != before


if __name__ == "__main__":
    sys.exit(main())
