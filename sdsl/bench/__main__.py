"""python -m sdsl.bench [part ...]: measure, print tables, save outputs/bench/<part>.json.

The peers need an environment of their own, made once by: python -m sdsl.bench peers --install
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from sdsl.bench import rows, timing
from sdsl.errors import UserError
from sdsl.output import guarded
from sdsl.progress import Parts

PARTS = ["fuse", "loop", "peers", "shares", "growth", "data", "store", "start"]
ALSO = ["method", "context", "use", "jobs", "flops"]  # measured when asked for by name
TABLES = [PARTS, *([part] for part in ALSO)]  # one for all of PARTS, one for each of the others
TABLE = "table.md"  # the tables of what is saved; outputs/paper/bench has the committed ones


@guarded()
def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sdsl.bench", description=__doc__)
    add = parser.add_argument
    parts = f"{', '.join(PARTS)}; none means all of these. Also: {', '.join(ALSO)}"
    add("parts", nargs="*", metavar="part", help=parts)
    add("--out", type=Path, default=Path("outputs/bench"), help="folder to write to (%(default)s)")
    add("--tiny", action="store_true", help="tiny sizes, which only show that it works")
    add("--install", action="store_true", help="first make the environment of the peers")
    add("--tables", action="store_true", help=f"measure nothing, write {TABLE} of what is saved")
    args = parser.parse_args(words)
    known = [*PARTS, *ALSO]
    if unknown := set(args.parts) - set(known):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; parts: {', '.join(known)}")
    if args.tables and not any(args.out.glob("*.json")):
        parser.error(f"nothing is saved in {args.out}")
    console = Console(width=None if sys.stdout.isatty() else 140)
    chosen = [] if args.tables else args.parts or PARTS
    progress = Parts("measuring", len(chosen))  # lines only: a bar would be measured, too
    try:
        for part in chosen:
            progress.next(part)
            module = importlib.import_module(f"sdsl.bench.{part}")
            if args.install and hasattr(module, "install"):
                module.install(args.out)
            before = timing.load()
            measured = module.measure(args.tiny, args.out)
            rows.save(part, measured, (before, timing.load()), args.out)
            title = (module.__doc__ or part).splitlines()[0]
            rows.show(part, title, measured, console)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    (args.out / TABLE).write_text(rows.markdown(args.out, TABLES))
    if chosen:
        console.print(f"Saved: {args.out}/*.json")
    console.print(f"Saved: {args.out}/{TABLE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
