"""One self-contained index.html: verdicts, tables, figures, and where every number comes from."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from sdsl.report.claims import comparisons, statistics, verdicts
from sdsl.report.claims.claim import VERDICTS
from sdsl.report.output import tables
from sdsl.report.output.figures import Picture
from sdsl.report.output.looks import INK, look
from sdsl.report.runs.names import (
    DATASETS,
    METRICS,
    PAPER_METHODS,
    Setting,
    dataset_name,
    datasets_in_order,
    method_name,
    methods_in_order,
)
from sdsl.report.runs.results import Results

HERE = Path(__file__).parent
FOOTNOTE_GREY = "#666666"  # matplotlib's 0.4


@dataclass(frozen=True)
class Overview:
    """The verdicts of a setting, counted: all of them, and those on original data."""

    setting: Setting
    verdicts: Sequence[verdicts.Verdict]
    counts: Mapping[str, int]
    on_originals: Mapping[str, int]
    undecided: int


@dataclass(frozen=True)
class Grid:
    """A table as the template draws it."""

    id: str
    title: str
    streams: Sequence[str]
    rows: Mapping[str, Mapping[str, pd.Series]]  # method -> stream -> cell
    bounds: Mapping[str, float]
    standing: Mapping[str, str]


@dataclass(frozen=True)
class Comparison:
    """The statistics of a metric in a setting."""

    id: str
    title: str
    differences: Sequence[Mapping[str, Any]]
    iqm: Sequence[Mapping[str, Any]]
    ranks: Mapping[str, float]
    note: str


@dataclass(frozen=True)
class Inlined:
    """A picture with its SVG made ready for the page."""

    picture: Picture
    svg: Markup


def render(
    results: Results,
    settings: Mapping[Setting, Results],
    judged: Mapping[Setting, Sequence[verdicts.Verdict]],
    made: Sequence[tables.Table],
    pictures: Sequence[Picture],
) -> str:
    """Jinja escapes all text; only our own CSS, JS and SVG are trusted."""
    methods = methods_in_order(results.variants() | set(PAPER_METHODS))
    streams = datasets_in_order(results.streams() | set(DATASETS))
    numbers = {method: number for number, method in enumerate(methods)}
    return _template().render(
        css=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        js=Markup((HERE / "page.js").read_text(encoding="utf-8")),
        overviews=[_overview(setting, claims) for setting, claims in judged.items()],
        verdict_numbers={verdict: number for number, verdict in enumerate(VERDICTS)},
        rules=verdicts.RULES,
        methods=numbers,
        colours={method: _colour(method) for method in methods},
        streams={stream: number for number, stream in enumerate(streams)},
        grids=[_grid(table) for table in made],
        legend=tables.LEGEND,
        figures=[Inlined(p, Markup(inline(p.svg, p.name, numbers))) for p in pictures],
        comparisons=[
            _comparison(setting, runs, metric)
            for setting, runs in settings.items()
            for metric in METRICS
        ],
        runs=results.frame.reset_index().to_dict("records"),
        data=_data(results),
        notes=results.notes,
    )


def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {
        "method": method_name,
        "dataset": dataset_name,
        "measured": tables.measured,
        "papers_number": tables.papers_number,
        "swap_count": tables.swap_count,
        "bound": tables.bound_text,
        "minute": lambda ms: datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M"),
    }
    return environment.get_template("page.html")


def _colour(method: str) -> str:
    colour = look(method).colour
    return "currentColor" if colour == INK else colour


def _overview(setting: Setting, judged: Sequence[verdicts.Verdict]) -> Overview:
    return Overview(
        setting,
        judged,
        counts=verdicts.counts(judged),
        on_originals=verdicts.counts([v for v in judged if v.standing == "original"]),
        undecided=sum(v.undecided for v in judged),
    )


def _grid(table: tables.Table) -> Grid:
    cells = table.cells
    by_dataset = tables.by_dataset(cells)
    by_method = {m: part.set_index("dataset") for m, part in cells.groupby("method", sort=False)}
    return Grid(
        id=f"{table.metric}-{table.setting.id}",
        title=table.title,
        streams=list(cells.dataset.unique()),
        rows={m: {s: row.loc[s] for s in row.index} for m, row in by_method.items()},
        bounds=by_dataset.static_bound.to_dict(),
        standing=by_dataset.standing.to_dict(),
    )


def _comparison(setting: Setting, results: Results, metric: str) -> Comparison:
    methods = comparisons.paper_methods_run(results)
    means = comparisons.means(results, metric, methods)
    enough = len(methods) > 1 and len(means) > 1
    return Comparison(
        id=f"{metric}-{setting.id}",
        title=f"{METRICS[metric]}, {setting.name.lower()}",
        differences=comparisons.differences(results, metric).to_dict("records"),
        iqm=comparisons.interquartile(results, metric).to_dict("records"),
        ranks=statistics.mean_ranks(means).sort_values().to_dict() if enough else {},
        note=statistics.power_note(len(methods), len(means)) if enough else "",
    )


def _data(results: Results) -> list[dict[str, Any]]:
    """Where the rows of every stream came from."""
    columns = ["stream", "prefix", "T", "data_source", "data_standing", "data_sha256"]
    return results.frame[[*columns, "stream_sha256"]].drop_duplicates().to_dict("records")


def inline(svg: str, name: str, numbers: Mapping[str, int]) -> str:
    """A matplotlib SVG for this page: ids of its own, marks with their method, both themes."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'id="method-([0-9a-f]*)-\d+"', lambda m: _data_m(m[1], numbers), svg)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{name}-", svg)
    svg = svg.replace(INK, "currentColor").replace(FOOTNOTE_GREY, "var(--dim)")
    svg = svg.replace("fill: #ffffff", "fill: none")
    # The drawing fills the width that the page gives it.
    svg = re.sub(r'(<svg [^>]*?)width="[^"]*"', r"\1", svg, count=1)
    return re.sub(r'(<svg [^>]*?)height="[^"]*"', r"\1", svg, count=1)


def _data_m(method_in_hex: str, numbers: Mapping[str, int]) -> str:
    return f'data-m="{numbers.get(bytes.fromhex(method_in_hex).decode(), -1)}"'
