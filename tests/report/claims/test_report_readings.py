"""Claims about Ours under two readings of the paper: to the letter, and ours."""

from report_made_up import METHODS, results

from sdsl.report.claims import readings, verdicts
from sdsl.report.runs.names import LITERAL, TO_THE_LETTER

BOTH = (*METHODS, *TO_THE_LETTER.values())


def judged(methods, **levels):
    made = results(methods=methods, datasets=("satimage",), seeds=3, T=4)
    for method, level in levels.items():  # every number of a method moved to one level
        here = made.frame.variant == method
        made.frame.loc[here, ["acc_final", "acc_online"]] = level
    return {(v.id, v.text): v for v in verdicts.judge(made) if v.dataset == "satimage"}


def of(found, name):
    return [v for (id_, _), v in found.items() if id_ == name]


def test_only_claims_about_ours_have_a_reading():
    found = judged(BOTH)
    assert all(v.reading for v in of(found, "ours-best-final"))
    assert not any(v.reading for v in [*of(found, "shape"), *of(found, "record-best")])
    cells = {v.text.split(" on ")[0]: v.reading for v in of(found, "cell")}
    assert [text for text, reading in cells.items() if reading] == ["Acc_T of Ours"]


def test_a_claim_holds_to_the_letter_under_our_reading_or_under_neither():
    def best(ours, literal):
        found = judged(BOTH, ours=ours, ours_literal=literal)
        (verdict,) = of(found, "ours-best-final")
        return verdict

    assert best(0.95, 0.95).reading == best(0.1, 0.95).reading == readings.LETTER
    assert best(0.95, 0.1).reading == readings.OURS
    assert best(0.1, 0.1).reading == readings.NEITHER
    assert best(0.95, 0.1).to_the_letter.startswith("not reproduced: ")
    assert best(0.95, 0.1).verdict == "reproduced"  # the verdict is that of our reading


def test_without_literal_runs_nothing_is_said_of_the_letter():
    found = judged(METHODS)
    assert {v.reading for v in found.values()} == {"", readings.UNKNOWN}
    text = verdicts.markdown({LITERAL: list(found.values())})
    said = sum(bool(v.reading) for v in found.values())
    assert f"Of {said} claims about Ours, 0 hold to the letter" in text
    assert f"{said} were not run to the letter" in text


def test_the_counts_are_those_of_the_rows():
    words = [readings.LETTER] * 3 + [readings.OURS] * 2 + [readings.NEITHER, "", ""]
    assert readings.summary(words) == (
        "Of 6 claims about Ours, 3 hold to the letter, 2 only under our reading, 1 under neither."
    )
