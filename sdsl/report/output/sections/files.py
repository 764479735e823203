"""The files beside the page: tables for a paper, figures as SVG and PDF, verdicts as CSV."""

from sdsl.report.output.report import Report
from sdsl.report.output.sections.section import Section, render


def section(report: Report) -> Section:
    html = render(
        "files.html", tables=report.tables, asides=report.asides, pictures=report.pictures
    )
    return Section("files", "Files", html)
