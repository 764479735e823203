"""One self-contained index.html: verdicts, tables, figures and where every number comes from."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sdsl.report.claims import comparisons as facts
from sdsl.report.claims import statistics, verdicts
from sdsl.report.claims.checks import VERDICTS
from sdsl.report.output import tables
from sdsl.report.output.figures import Picture
from sdsl.report.runs.names import (
    BOUND,
    INK,
    METRICS,
    PAPER,
    dataset_name,
    datasets_in_order,
    look,
    method_name,
    methods_in_order,
)
from sdsl.report.runs.results import Results

HERE = Path(__file__).parent
DIM = "#666666"  # matplotlib's 0.4, the colour of footnotes


def render(
    results: Results,
    settings: Mapping[str, Results],
    judged: Mapping[str, list[verdicts.Verdict]],
    cells: Mapping[tuple[str, str], pd.DataFrame],
    pictures: Sequence[Picture],
) -> str:
    """All text goes through Jinja's escaping; only our own CSS, JS and SVG are trusted."""
    methods = methods_in_order(results.variants() | set(PAPER) - {BOUND})
    streams = datasets_in_order(results.streams() | set(verdicts.book()["datasets"]))
    numbers = {method: number for number, method in enumerate(methods)}
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {
        "method": method_name,
        "dataset": dataset_name,
        "own": tables.own,
        "printed": tables.printed,
        "swaps": tables.swaps,
        "bound": tables.bound_text,
        "day": lambda ms: datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M"),
    }
    return environment.get_template("page.html").render(
        css=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        js=Markup((HERE / "page.js").read_text(encoding="utf-8")),
        settings=verdicts.SETTINGS,
        judged=judged,
        counts={setting: verdicts.counts(found) for setting, found in judged.items()},
        original={s: _on_originals(found) for s, found in judged.items()},
        VERDICTS=VERDICTS,
        rules=verdicts.RULES,
        methods=numbers,
        colours={m: "currentColor" if look(m).colour == INK else look(m).colour for m in methods},
        streams={stream: number for number, stream in enumerate(streams)},
        grids=[_grid(key, table) for key, table in cells.items()],
        legend=tables.LEGEND,
        pictures=[(p, Markup(inline(p.svg, p.name, numbers))) for p in pictures],
        facts=[_facts(s, r, metric) for s, r in settings.items() for metric in METRICS],
        runs=results.frame.reset_index().to_dict("records"),
        data=_data(results),
        notes=results.notes,
    )


def _on_originals(found: Sequence[verdicts.Verdict]) -> dict[str, int]:
    return verdicts.counts([v for v in found if v.standing == "original"])


def _grid(key: tuple[str, str], table: pd.DataFrame) -> dict[str, Any]:
    """A table as rows of cells; what has no run at all in a column keeps its gap."""
    setting, metric = key
    rows = {m: part.set_index("dataset") for m, part in table.groupby("method", sort=False)}
    first = table.drop_duplicates("dataset").set_index("dataset")
    return {
        "id": f"{metric}-{setting}",
        "title": tables.title(metric, verdicts.SETTINGS[setting]),
        "streams": list(table.dataset.unique()),
        "rows": {m: {s: part.loc[s] for s in part.index} for m, part in rows.items()},
        "bounds": first.static_bound.to_dict(),
        "standing": first.standing.to_dict(),
    }


def _facts(setting: str, results: Results, metric: str) -> dict[str, Any]:
    methods = [m for m in PAPER if m in results.variants()]
    means = facts.means(results, metric, methods)
    enough = len(methods) > 1 and len(means) > 1
    return {
        "id": f"{metric}-{setting}",
        "title": f"{METRICS[metric]}, {verdicts.SETTINGS[setting].partition(':')[0].lower()}",
        "differences": facts.differences(results, metric).to_dict("records"),
        "iqm": facts.interquartile(results, metric).to_dict("records"),
        "ranks": statistics.mean_ranks(means).sort_values().to_dict() if enough else {},
        "note": statistics.power_note(len(methods), len(means)) if enough else "",
    }


def _data(results: Results) -> list[dict[str, Any]]:
    """Where the rows of every stream came from."""
    columns = ["stream", "prefix", "T", "data_source", "data_standing", "data_sha256"]
    return results.frame[[*columns, "stream_sha256"]].drop_duplicates().to_dict("records")


def inline(svg: str, name: str, numbers: Mapping[str, int]) -> str:
    """A matplotlib SVG for this page: ids of its own, marks that know their method, both themes."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'id="method-([0-9a-f]*)-\d+"', lambda m: _mark(m[1], numbers), svg)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{name}-", svg)
    svg = svg.replace(INK, "currentColor").replace(DIM, "var(--dim)")
    svg = svg.replace("fill: #ffffff", "fill: none")
    # The drawing fills the width that the page gives it.
    svg = re.sub(r'(<svg [^>]*?)width="[^"]*"', r"\1", svg, count=1)
    return re.sub(r'(<svg [^>]*?)height="[^"]*"', r"\1", svg, count=1)


def _mark(code: str, numbers: Mapping[str, int]) -> str:
    return f'data-m="{numbers.get(bytes.fromhex(code).decode(), -1)}"'
