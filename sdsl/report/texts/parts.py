"""The generated parts of the texts: name -> Markdown."""

from collections.abc import Callable, Sequence

from sdsl.report.claims.claim import NOT_REPRODUCED, NOT_RUN, OUT_OF_REACH, REPRODUCED, VERDICTS
from sdsl.report.claims.readings import summary
from sdsl.report.claims.verdicts import Verdict, counts
from sdsl.report.runs.names import LITERAL, TO_THE_LETTER
from sdsl.report.texts import beside, scores
from sdsl.report.texts.facts import Facts
from sdsl.report.texts.scores import grid


def claims(facts: Facts) -> str:
    """The paragraph on all claims."""
    judged = facts.judged[LITERAL]
    n = counts(judged)
    text = (
        f"The paper makes {len(judged)} claims that can be tested. Under our reading of its method "
        f"**{n[REPRODUCED]} are reproduced, {n[NOT_REPRODUCED]} are not.** Another "
        f"{n[OUT_OF_REACH]} are out of reach: they exceed the best classifier of x alone that we "
        "could fit to the whole stream, true labels included."
    )
    if n[NOT_RUN]:
        text += f" {n[NOT_RUN]} could not be run."
    return f"{text} {_summary(judged)}"


def readings(facts: Facts) -> str:
    """Verdicts on the literal streams by reading: claims about Ours twice, the others once."""
    judged = facts.judged[LITERAL]
    of_ours = [v for v in judged if v.reading]
    found = {
        "about Ours, to the letter (`ours_literal`)": [
            v.to_the_letter.partition(":")[0] for v in of_ours
        ],
        "about Ours, under our reading (`ours`)": [v.verdict for v in of_ours],
        "about other methods or the data": [v.verdict for v in judged if not v.reading],
    }
    rows = [
        [name, str(len(said)), *(str(said.count(verdict)) for verdict in VERDICTS)]
        for name, said in found.items()
    ]
    return f"{grid(['claims', 'number', *VERDICTS], rows)}\n\n{_summary(judged)}"


def _summary(judged: Sequence[Verdict]) -> str:
    return summary([v.reading for v in judged])


def runs(facts: Facts) -> str:
    """Which runs, of which code."""
    frame = facts.everything.frame
    seeds = sorted(set(frame.seed))
    commits = ", ".join(sorted({f"`{sha[:7]}`" for sha in frame.git_sha}))
    dirty = int((frame.dirty.str.lower() == "true").sum())
    changed = f"{dirty} runs had uncommitted changes" if dirty else "no uncommitted changes"
    one = len(set(frame.git_sha)) == 1
    return (
        f"{len(frame):,} runs, seeds {seeds[0]} to {seeds[-1]}, of "
        f"{'commit' if one else 'commits'} {commits}, {changed}."
    )


def swaps(facts: Facts) -> str:
    """Methods whose classes exchanged their names for good, and where."""
    rows = []
    for stream, name in scores.STREAMS.items():
        found = {m: facts.swaps(m, stream) for m in facts.blind if m not in LETTER_VARIANTS}
        lost = [f"`{m}` {bad} of {n}" for m, (bad, n) in found.items() if bad]
        rows.append([name, ", ".join(lost) or "none"])
    return grid(["stream", "seeds with a lasting swap"], rows)


LETTER_VARIANTS = {*TO_THE_LETTER.values()} - {"ours_literal"}  # ran on two streams only
PARTS: dict[str, Callable[[Facts], str]] = {
    **{part.__name__: part for part in (claims, readings, runs, swaps)},
    **scores.PARTS,
    **beside.PARTS,
}
