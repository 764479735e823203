"""Holds the paper's claims against the runs: one verdict per claim, with its numbers, counted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sdsl.report.claims import book, readings
from sdsl.report.claims.claim import NOT_REPRODUCED, NOT_RUN, VERDICTS, Claim, ScoreClaim
from sdsl.report.runs.names import Setting
from sdsl.report.runs.results import Results

RULES = """A cell is reproduced where |mean here − paper's mean| ≤ max(2 × the paper's std, 0.02);
out of reach where the best classifier of x alone that we measured (static bound or end of the
static trade-off curve, whichever is higher) lies below the paper's mean by more than that.
An order is reproduced where the 95 % paired bootstrap interval of the difference over common seeds
excludes 0 in the claimed direction; undecided: the means are in the claimed order, the interval
includes 0. Every test: sdsl/report/claims/claims.yaml. Data: the standing of the rows behind it."""


@dataclass(frozen=True)
class Verdict:
    """A row of verdicts.csv."""

    id: str
    where: str
    text: str
    test: str
    dataset: str
    verdict: str
    numbers: str
    undecided: bool
    standing: str  # of the data behind it
    in_paper: str  # whether the means of the paper's own Table 2 agree: yes, no or ''
    reading: str  # of the claims about Ours: the reading of the paper under which it holds
    to_the_letter: str  # the verdict on ours_literal, and its numbers


def judge(results: Results) -> list[Verdict]:
    """A verdict for every claim, from the runs of one setting."""
    datasets = set(results.expected_datasets())
    letter = readings.to_the_letter(results)
    verdicts = []
    for claim in book.claims():
        if claim.dataset not in datasets:
            continue
        finding = claim.check(results)
        literal = readings.judge(claim, letter)
        verdicts.append(
            Verdict(
                id=claim.id,
                where=claim.where,
                text=claim.text,
                test=claim.test,
                dataset=claim.dataset,
                verdict=finding.verdict,
                numbers=finding.numbers,
                undecided=finding.undecided,
                standing=results.standing(claim.dataset),
                in_paper=in_paper(claim),
                reading=readings.reading(finding, literal),
                to_the_letter=f"{literal.verdict}: {literal.numbers}" if literal else "",
            )
        )
    return verdicts


def in_paper(claim: Claim) -> str:
    """Whether the means of Table 2, which are Acc_T, agree with a claim: yes, no or ''."""
    if not isinstance(claim, ScoreClaim) or claim.metric != "acc_final":
        return ""
    holds = claim.holds_in_table_2(book.paper_means(claim.dataset))
    return "" if holds is None else "yes" if holds else "no"


def counts(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """verdict -> how many, in the order of VERDICTS."""
    tally = Counter(v.verdict for v in verdicts)
    return {verdict: tally[verdict] for verdict in VERDICTS}


def summary(verdicts: Sequence[Verdict]) -> str:
    """'136 claims: 12 reproduced, 3 not reproduced (1 of them: ...), ...'"""
    undecided = sum(v.undecided for v in verdicts)
    parts = []
    for verdict, count in counts(verdicts).items():
        part = f"{count} {verdict}"
        if verdict == NOT_REPRODUCED and undecided:
            part += f" ({undecided} of them: means in the claimed order, interval includes 0)"
        parts.append(part)
    return f"{len(verdicts)} claims: {', '.join(parts)}"


def tested(verdicts: Sequence[Verdict]) -> str:
    """'12 of the paper's 169 claims can be tested: 5 reproduced, 7 not reproduced'"""
    tally = {verdict: n for verdict, n in counts(verdicts).items() if n and verdict != NOT_RUN}
    if not tally:
        return "They test no claim of the paper yet"
    n = sum(tally.values())
    parts = ", ".join(f"{count} {verdict}" for verdict, count in tally.items())
    return f"They test {n} of the paper's {len(verdicts)} claims: {parts}"


def markdown(judged: Mapping[Setting, Sequence[Verdict]]) -> str:
    """verdicts.md: the counts, then one section per setting with every claim and its numbers."""
    lines = ["# Verdicts", ""]
    for setting, verdicts in judged.items():
        lines += [f"- {setting.title}. {summary(verdicts)}."]
        lines += [f"  {readings.summary([v.reading for v in verdicts])}"]
    lines += ["", RULES, "", readings.RULES, ""]
    for setting, verdicts in judged.items():
        lines += [f"## {setting.title}", ""]
        lines += ["| verdict | claim | numbers | where | data | in the paper's Table 2 | Ours |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for v in verdicts:
            shown = f"{v.verdict}{' (undecided)' if v.undecided else ''}"
            cells = (shown, v.text, v.numbers, v.where, v.standing or "–", v.in_paper, v.reading)
            lines.append(f"| {' | '.join(cell.replace('_', chr(92) + '_') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines)
