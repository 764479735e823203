"""Shows the eight streams: python -m sdsl.datasets [--data DIR] [--download] [--out DIR]"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Literal, cast

from omegaconf import OmegaConf
from rich import box
from rich.console import Console
from rich.table import Table as Grid

from sdsl.config.home import home
from sdsl.config.schema import DataConfig
from sdsl.core.table import Table
from sdsl.datasets import load
from sdsl.datasets.pictures import picture
from sdsl.errors import UserError
from sdsl.output import guarded

WIDTH = 100  # columns, where the output is no terminal
COLUMNS: dict[str, Literal["left", "right"]] = {
    "dataset": "left",
    "rows x\nfeatures": "right",
    "classes": "right",
    "T": "right",
    "unlabelled\n+ test": "right",
    "order": "left",
    "standing\nand source": "left",
    "SHA-256": "left",
}


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sdsl.datasets", description=__doc__)
    parser.add_argument("--data", default=os.environ.get("SDSL_DATA"), help="your data files")
    parser.add_argument("--download", action="store_true", help="fetch public files")
    parser.add_argument("--cache", help="folder for downloads and parsed files")
    parser.add_argument("--out", type=Path, default=Path("outputs/streams"), help="for pictures")
    args = parser.parse_args()
    data = DataConfig(root=args.data, download=args.download, cache=args.cache)
    try:
        show(data, args.out, Console(width=None if sys.stdout.isatty() else WIDTH))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def show(data: DataConfig, out: Path, console: Console) -> None:
    """Prints the table of all eight and saves a picture of each."""
    grid = Grid(title="The eight streams", title_justify="left", box=box.HORIZONTALS, padding=0)
    for name, justify in COLUMNS.items():
        grid.add_column(name, justify=justify, overflow="fold")
    for path in sorted((home() / "conf" / "dataset").glob("*.yaml")):
        section = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(path)))
        table = load(section, data)
        size, test, order = section["segment_size"], section["test_size"], section["order"]
        grid.add_row(*cells(table, size, test, order))
        picture(table, size, order, out / f"{table.name}.png")
    console.print(grid)
    console.print("T: segments after the first, which gives the gold set.")
    console.print(f"Pictures: {out}/", soft_wrap=True)


def cells(table: Table, size: int, test: int, order: str) -> list[str]:
    """One row of the table of streams."""
    return [
        table.name,
        f"{len(table.y):,} x {table.X.shape[1]}",
        str(len(table.classes)),
        str(len(table.y) // size - 1),
        f"{size - test} + {test}",
        order,
        f"{table.standing}\n{table.source}",
        table.sha256[:12],
    ]


if __name__ == "__main__":
    sys.exit(main())
