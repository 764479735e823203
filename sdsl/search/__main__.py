"""How the settings were chosen: python -m sdsl.search [method=NAME] [variant ...] [--held-out]

One change at a time around a method as it is shipped, on streams that are none of the eight, none
of the archive, with seeds from 10 on. conf/ holds what came out, the same for all datasets;
outputs/paper/SETTINGS.md tells the story.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sdsl.output import guarded
from sdsl.progress import Parts
from sdsl.search.scoring import Score, scores
from sdsl.search.table import compared
from sdsl.search.variants import FAMILIES, SHIPPED


@guarded()
def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m sdsl.search", description=__doc__)
    parser.add_argument("variants", nargs="*", metavar="variant", help=_known())
    parser.add_argument("--only", nargs="+", metavar="STREAM", help="some of the streams")
    parser.add_argument("--jobs", type=int, help="processes at once (default: one a core)")
    parser.add_argument("--held-out", action="store_true", help="on the streams set apart instead")
    args = parser.parse_args(words)
    chosen = [word.removeprefix("method=") for word in args.variants if word.startswith("method=")]
    if unknown := set(chosen) - set(FAMILIES):
        parser.error(f"no search for method={unknown.pop()}; methods: {', '.join(FAMILIES)}")
    family = FAMILIES[chosen[-1] if chosen else "ours"]
    asked = [word for word in args.variants if not word.startswith("method=")]
    if strange := set(asked) - set(family.variants):
        known = "; ".join(family.variants)
        parser.error(f"unknown: {', '.join(sorted(strange))}. Variants: {known}")
    if args.held_out and not family.held_out:
        parser.error(f"method={family.method} has no streams set apart")
    names = list(family.held_out if args.held_out else family.streams)
    if strange := set(args.only or []) - set(names):
        parser.error(f"unknown: {', '.join(sorted(strange))}. Streams: {'; '.join(names)}")
    names = args.only or names
    rest = [v for v in asked or family.variants if v != SHIPPED]
    apart = args.held_out
    jobs = [(family.method, v, stream, apart) for v in (SHIPPED, *rest) for stream in names]
    file = Path("outputs", f"search_{family.method}{'_held_out' if args.held_out else ''}.csv")
    file.parent.mkdir(exist_ok=True)
    rows: list[Score] = []
    with Parts("searching", len(jobs)) as parts:
        parts.show(f"searching: {len(jobs)} jobs", 0, len(jobs))
        for row in scores(jobs, args.jobs):
            rows.append(row)
            pd.DataFrame(rows).to_csv(file, index=False, float_format="%.4f")
            parts.end(f"{row['variant']} on {row['stream']}")
    print(compared(pd.DataFrame(rows), family).round(3).to_string())


def _known() -> str:
    """The variants of every method, for --help; argparse reads a % as a format."""
    lists = [f"method={name}: {'; '.join(family.variants)}" for name, family in FAMILIES.items()]
    return f"all, or some of these. {'. '.join(lists)}".replace("%", "%%")


if __name__ == "__main__":
    main()
