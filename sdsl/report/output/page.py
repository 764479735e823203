"""One self-contained index.html, offline: the answer first, then the sections in their order."""

import json
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from sdsl.report.output.looks import FAMILIES
from sdsl.report.output.report import Report
from sdsl.report.output.sections import SECTIONS
from sdsl.report.output.sections.section import Section, colour, render
from sdsl.report.runs.names import dataset_name, method_name

ASSETS = Path(__file__).parent / "assets"


def html(report: Report) -> str:
    """Our own CSS and JS, Plotly, and the numbers as JSON, in one file."""
    sections = [made for make in SECTIONS if (made := make(report))]
    families = {
        family: [m for m in report.methods if report.looks[m].family == family]
        for family in FAMILIES
    }
    return render(
        "page.html",
        css=_asset("page.css"),
        scripts=[_asset(name) for name in ("plotly-basic.min.js", "page.js", "charts.js")],
        data=_data(report, sections),
        sections=sections,
        settings=list(report.settings),
        families={family: methods for family, methods in families.items() if methods},
        methods=report.methods,
        looks=report.looks,
        streams=report.shown_streams,
    )


def _asset(name: str) -> Markup:
    return Markup((ASSETS / name).read_text(encoding="utf-8"))


def _data(report: Report, sections: Sequence[Section]) -> Markup:
    """JSON that no name can end: '<' is written as an escape."""
    methods = [
        {
            "name": method_name(method),
            "colour": colour(look),
            "dash": look.family.plotly_dash,
            "symbol": look.family.plotly_marker,
        }
        for method, look in report.looks.items()
    ]
    values = {
        "methods": methods,
        "streams": [dataset_name(stream) for stream in report.streams],
        **{section.id: section.data for section in sections},
    }
    text = json.dumps(values, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))
