"""Tables beside the paper's, such as those in context and of the archive."""

from sdsl.report.output.report import Report
from sdsl.report.output.sections.section import Section, render


def section(report: Report) -> Section | None:
    """None where there is no such table."""
    if not report.asides:
        return None
    return Section("asides", "Beside the paper", render("asides.html", asides=report.asides))
