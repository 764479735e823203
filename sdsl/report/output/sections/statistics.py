"""Paired differences to Ours and interquartile means, for those who want the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sdsl.report.claims import comparisons
from sdsl.report.output.report import Report
from sdsl.report.output.sections.section import Section, render
from sdsl.report.runs.names import METRICS


@dataclass(frozen=True)
class Comparison:
    """The statistics of a metric in a setting."""

    id: str
    setting: str
    title: str
    differences: Sequence[Mapping[str, Any]]
    iqm: Sequence[Mapping[str, Any]]


def section(report: Report) -> Section | None:
    """None where there is nothing to compare."""
    found = [
        Comparison(
            f"{metric}-{setting.id}",
            setting.id,
            name,
            comparisons.differences(results, metric).to_dict("records"),
            comparisons.interquartile(results, metric).to_dict("records"),
        )
        for setting, results in report.settings.items()
        for metric, name in METRICS.items()
        if len(results.variants()) > 1
    ]
    if not found:
        return None
    html = render("statistics.html", found=found, methods=report.methods, streams=report.streams)
    return Section("statistics", "Statistics", html)
