"""A section of the page, its template, and a table of any numbers for those who add one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sdsl.report.output import tables
from sdsl.report.output.looks import INK, Look
from sdsl.report.runs.names import METRICS, dataset_name, method_name

TEMPLATES = Path(__file__).parents[1] / "templates"
METRICS_IN_ORDER = dict(reversed(METRICS.items()))  # what a method is used for comes first
DASHES = {  # of a line of width 2, under Plotly's names
    **{"solid": "none", "dash": "5 3", "dot": "2 2", "dashdot": "5 2 2 2"},
    **{"longdash": "9 2", "longdashdot": "7 2 2 2", "10px,3px,3px,3px": "10 3 3 3"},
}
MARKERS = {  # around (13, 6)
    "circle": "M9 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "diamond": "M13 1l5 5l-5 5l-5-5z",
    "square": "M9 2h8v8h-8z",
    "star": "M13 0l1.6 4h4.3l-3.4 2.7l1.2 4.3l-3.7-2.6l-3.7 2.6l1.2-4.3l-3.4-2.7h4.3z",
    "triangle-up": "M13 1l5 9h-10z",
    "x": "M8 3l2-2l3 3l3-3l2 2l-3 3l3 3l-2 2l-3-3l-3 3l-2-2l3-3z",
    "cross": "M11 1h4v3h3v4h-3v3h-4v-3h-3v-4h3z",
}


@dataclass(frozen=True)
class Section:
    """`data` is at hand for the page's scripts under the section's id."""

    id: str
    title: str
    html: Markup
    data: Mapping[str, Any] = field(default_factory=dict)


def render(template: str, **values: Any) -> Markup:
    """Jinja escapes all text; only our own templates and scripts are trusted."""
    return Markup(_environment().get_template(template).render(**values))


def table_section(id: str, title: str, text: str, frame: pd.DataFrame) -> Section:
    """A section with one sortable table: a row per row of the frame, its columns as headings."""
    rows = frame.to_dict("records")
    return Section(
        id, title, render("table.html", id=id, text=text, columns=list(frame), rows=rows)
    )


def colour(look: Look) -> str:
    return "currentColor" if look.colour == INK else look.colour


def swatch(look: Look) -> Markup:
    """The line and the marker of a method, as in a legend."""
    dash, shape = DASHES[look.family.plotly_dash], MARKERS[look.family.plotly_marker]
    line = f'<path d="M0 6h26" stroke="{colour(look)}" stroke-width="2" stroke-dasharray="{dash}"/>'
    mark = f'<path d="{shape}" fill="{colour(look)}"/>'
    return Markup(
        f'<svg class="swatch" width="26" height="12" aria-hidden="true">{line}{mark}</svg>'
    )


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "method": method_name,
        "dataset": dataset_name,
        "swatch": swatch,
        "number": lambda value: f"{value:.3f}" if isinstance(value, float) else value,
        "papers_number": tables.papers_number,
        "bound": tables.bound_text,
        "minute": lambda ms: datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M"),
    }
    return environment
