"""Rows of the benchmark: printed as a table, saved as JSON, and joined to one Markdown table."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sdsl.bench import timing

VERDICT = {True: "met", False: "not met", None: ""}


@dataclass(frozen=True)
class Row:
    what: str
    found: str  # in words, with its unit
    target: str = ""
    met: bool | None = None  # None: nothing was promised
    raw: dict[str, Any] = field(default_factory=dict)  # the numbers behind it


def save(part: str, rows: list[Row], loads: tuple[float, float], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    found = {
        "part": part,
        "machine": timing.machine(),
        "load_before_and_after": loads,
        "rows": [asdict(row) for row in rows],
    }
    (out / f"{part}.json").write_text(json.dumps(found, indent=1) + "\n")


def show(part: str, title: str, rows: list[Row], console: Console) -> None:
    table = Table(title=f"{part}: {title}", title_justify="left")
    for head in ("what", "measured", "target", ""):
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(row.what, row.found, row.target, VERDICT[row.met])
    console.print(table)


def markdown(out: Path, parts: list[str]) -> str:
    """One table of every part saved in the folder; outputs/paper/bench/README.md holds one."""
    lines, made, loads = [], {}, []
    for part in parts:
        if not (path := out / f"{part}.json").exists():
            continue
        saved = json.loads(path.read_text())
        made = saved["machine"]
        loads += saved["load_before_and_after"]
        for row in saved["rows"]:
            cells = part, row["what"], row["found"], row["target"], VERDICT[row["met"]]
            lines.append(f"| {' | '.join(cells)} |")
    if not lines:
        return ""
    where = f"{made['cpu']}, {made['cores']} cores, Python {made['python']}, torch {made['torch']}"
    busy = f"load {min(loads):.1f} to {max(loads):.1f} while measuring"
    head = [
        f"Measured on {where}; {made['date']}, {busy}.",
        "CPU is process time, as the median of interleaved repetitions.",
        "",
        "| part | what | measured | target | |",
        "|---|---|---|---|---|",
    ]
    return "\n".join(head + lines) + "\n"
