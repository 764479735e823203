"""Every claim of the paper with its verdict, to be filtered by verdict, stream and section."""

import re

from sdsl.report.claims import readings, verdicts
from sdsl.report.claims.claim import NOT_RUN, VERDICTS
from sdsl.report.output.report import Report
from sdsl.report.output.sections.section import Section, render
from sdsl.report.runs.names import DATASETS

PLACES = {  # sections of the paper
    "4.1": "4.1 Data and bounds",
    "4.2": "4.2 Overall comparison",
    "4.3": "4.3 Pseudo-labels",
    "4.4": "4.4 Forgetting, Table 2",
    "4.5": "4.5 Flat region",
}


def section(report: Report) -> Section:
    judged = {setting: list(found) for setting, found in report.judged.items() if found}
    html = render(
        "claims.html",
        judged=judged,
        counts={setting: verdicts.counts(found) for setting, found in judged.items()},
        undecided={setting: sum(v.undecided for v in found) for setting, found in judged.items()},
        numbers={verdict: number for number, verdict in enumerate(VERDICTS)},
        not_run=VERDICTS.index(NOT_RUN),
        datasets={dataset: number for number, dataset in enumerate(DATASETS)},
        places=PLACES,
        place_of=place_of,
        rules=verdicts.RULES,
        readings={s: sorted({v.reading for v in found} - {""}) for s, found in judged.items()},
        summary_of_readings={
            setting: readings.summary([v.reading for v in found])
            for setting, found in judged.items()
        },
        rules_of_readings=readings.RULES,
    )
    return Section("claims", "The paper's claims", html)


def place_of(where: str) -> str:
    """'4.4' of '4.4.1, Table 2'"""
    found = re.match(r"\d+\.\d+", where)
    return found[0] if found else ""
