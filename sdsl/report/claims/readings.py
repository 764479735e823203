"""The paper's own method, read in two ways: which claims about it hold under which.

To the letter: `ours_literal`, nothing that the text does not have. Our reading: `ours`.
"""

from collections import Counter
from collections.abc import Sequence

from sdsl.report.claims.claim import NOT_RUN, REPRODUCED, Claim, Finding
from sdsl.report.runs.names import TO_THE_LETTER
from sdsl.report.runs.results import Results

LETTER, OURS, NEITHER = "holds to the letter", "holds under our reading", "holds under neither"
UNKNOWN = "not run to the letter"
RULES = """Ours is run in two readings. To the letter (method=ours_literal) has nothing that the
text does not have. Our reading (method=ours) adds trust in gold, momentum and a running scale. The
verdicts are those of our reading; the last column says under which reading a claim holds. A claim
that holds to the letter may hold under our reading as well."""


def to_the_letter(results: Results) -> Results:
    """The runs with the literal methods in the place of ours."""
    return results.in_place(TO_THE_LETTER)


def judge(claim: Claim, letter: Results) -> Finding | None:
    """The finding to the letter; None for a claim that is not about Ours."""
    return claim.check(letter) if claim.speaks_of & set(TO_THE_LETTER) else None


def reading(ours: Finding, letter: Finding | None) -> str:
    """Under which reading a claim holds; '' for a claim that is not about Ours."""
    if letter is None:
        return ""
    if letter.verdict == NOT_RUN:
        return UNKNOWN
    if letter.verdict == REPRODUCED:
        return LETTER
    return OURS if ours.verdict == REPRODUCED else NEITHER


def summary(readings: Sequence[str]) -> str:
    """'Of 96 claims about Ours, 20 hold to the letter, 7 only under our reading, ...'"""
    count = Counter(filter(None, readings))
    parts = [f"{count[LETTER]} hold to the letter", f"{count[OURS]} only under our reading"]
    parts += [f"{count[NEITHER]} under neither"]
    if count[UNKNOWN]:
        parts += [f"{count[UNKNOWN]} were not run to the letter"]
    return f"Of {count.total()} claims about Ours, {', '.join(parts)}."
