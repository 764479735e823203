"""Shows the eight streams: python -m sdsl.datasets [--data DIR] [--download] [--out DIR]"""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from omegaconf import OmegaConf
from rich.console import Console
from rich.table import Table as Grid

from sdsl.core.table import Table
from sdsl.datasets import load
from sdsl.datasets.pictures import picture
from sdsl.errors import UserError

COLUMNS = ("rows", "features", "classes", "segments", "T", "unlabelled/test", "order")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sdsl.datasets", description=__doc__)
    parser.add_argument("--data", default=os.environ.get("SDSL_DATA"), help="your data files")
    parser.add_argument("--download", action="store_true", help="fetch public files")
    parser.add_argument("--cache", help="folder for downloads and parsed files")
    parser.add_argument("--out", type=Path, default=Path("outputs/streams"), help="for pictures")
    args = parser.parse_args()
    data = {"root": args.data, "download": args.download, "cache": args.cache}
    try:
        show(data, args.out, Console(width=None if sys.stdout.isatty() else 230))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def show(data: DataConfig, out: Path, console: Console) -> None:
    """Prints the table of all eight and saves a picture of each."""
    grid = Grid(title="The eight streams", title_justify="left")
    for name in ("dataset", *COLUMNS, "source", "standing", "SHA-256"):
        numeric = name in COLUMNS[:5]
        grid.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for path in sorted(conf_folder().glob("*.yaml")):
        dataset = OmegaConf.load(path)
        table = load(dataset, data)
        grid.add_row(*cells(table, dataset))
        picture(table, dataset.segment_size, dataset.order, out / f"{table.name}.png")
    console.print(grid)
    console.print(f"Pictures: {out}/")


def cells(table: Table, dataset: Mapping) -> list[str]:
    size, test = dataset["segment_size"], dataset["test_size"]
    segments = len(table.y) // size
    return [
        table.name,
        f"{len(table.y):,}",
        str(table.X.shape[1]),
        str(len(table.classes)),
        f"{segments} x {size}",
        str(segments - 1),  # segment 0 gives the gold set
        f"{size - test}/{test}",
        dataset["order"],
        table.source,
        table.standing,
        table.sha256,
    ]


def conf_folder() -> Path:
    """conf/dataset: inside the package when installed from a wheel, beside it in the repository."""
    package = Path(__file__).parents[1]
    inside = package / "conf" / "dataset"
    return inside if inside.is_dir() else package.parent / "conf" / "dataset"


if __name__ == "__main__":
    sys.exit(main())
