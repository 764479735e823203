"""Rows of the benchmark: printed as a table, saved as JSON, and joined to Markdown tables."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sdsl.bench import timing

HEAD = "CPU is process time, as the median of interleaved repetitions.\n"
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


def markdown(out: Path, tables: Sequence[Sequence[str]]) -> str:
    """One table for each list of parts, of those that are saved in the folder."""
    made = [text for parts in tables if (text := _table(out, parts))]
    return "\n".join([HEAD, *made]) if made else ""


def _table(out: Path, parts: Sequence[str]) -> str:
    files = [out / f"{part}.json" for part in parts]
    saved = [json.loads(file.read_text()) for file in files if file.exists()]
    if not saved:
        return ""
    lines = []
    for one in saved:
        for row in one["rows"]:
            cells = one["part"], row["what"], row["found"], row["target"], VERDICT[row["met"]]
            lines.append(f"| {' | '.join(cells)} |")
    head = [_where(saved), "", "| part | what | measured | target | |", "|---|---|---|---|---|"]
    return "\n".join(head + lines) + "\n"


def _where(saved: Sequence[dict[str, Any]]) -> str:
    """Machine, code, time and load of some parts; the machine is that of the last."""
    made = saved[-1]["machine"]
    loads = [load for one in saved for load in one["load_before_and_after"]]
    commits = ", ".join(dict.fromkeys(_commit(one["machine"]) for one in saved))
    return (
        f"Measured on {made['cpu']}, {made['cores']} cores, Python {made['python']}, torch "
        f"{made['torch']}, commit {commits}; {made['date']}, load {min(loads):.1f} to "
        f"{max(loads):.1f} while measuring."
    )


def _commit(machine: dict[str, str]) -> str:
    changed = " with uncommitted changes" if machine["dirty"] == "true" else ""
    return machine["git_sha"][:7] + changed
