"""The sections of the page, in order. To add one: a function Report -> Section, listed here."""

from collections.abc import Callable

from sdsl.report.output.report import Report
from sdsl.report.output.sections import (
    answer,
    asides,
    claims,
    curves,
    files,
    grids,
    provenance,
    statistics,
    tradeoff,
)
from sdsl.report.output.sections.section import Section

SECTIONS: tuple[Callable[[Report], Section | None], ...] = (
    answer.section,
    tradeoff.section,
    grids.section,
    curves.section,
    claims.section,
    asides.section,
    statistics.section,
    files.section,
    provenance.section,
)
