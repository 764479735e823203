"""The claims of the paper: each kind of check on hand-made runs, claims.yaml, the verdicts."""

import dataclasses

import pandas as pd
import pytest
import support
from made_runs import joined, made, with_noise

from sdsl.report import checks, claims
from sdsl.report.checks import CHECKS, NOT_JUDGED, NOT_RUN, REPRODUCED, Finding
from sdsl.report.names import DATASETS, METHODS, PAPER_METHODS, PAPER_VARIANTS, PROTOCOLS
from sdsl.report.runs import Runs

PAPER = support.ROOT.parent / "shared" / "paper.tex"
GIVEN = {  # of every kind of test; a case changes some of it
    "cell": {"method": "ours", "mean": 0.8, "std": 0.02, "tolerance_std": 0.02},
    "order": {"better": ["ours"], "than": ["st"]},
    "bound": {"method": "jt"},
    "near": {"method": "ours", "target": "jt", "within": 0.05},
    "nearest": {"method": "ours", "target": "jt", "among": ["st", "ours"]},
    "shape": {"rows": 9324, "features": 500, "classes": 2},
    "flat": {"methods": ["ours"], "loss": 0.02},
    "drops": {"methods": ["ours"], "loss": 0.02},
    "widest": {"method": "ours", "than": ["st"], "loss": 0.02},
}
YES, FAR, NONE = (REPRODUCED, False), (checks.OUT_OF_REACH, False), (NOT_RUN, False)
NO, OPEN = (checks.NOT_REPRODUCED, False), (checks.NOT_REPRODUCED, True)
LOWER, EXACT = {"lower": True}, {"tolerance_std": 0.0}
OVER, UNDER = {"over": ["st", "ours"]}, {"under": ["st", "ours"]}
# At the bounds 0, 0.05 and 0.1.
NOISE = {"ours": [0.9, 0.88, 0.85], "record": [0.7, 0.7, 0.7], "st": [0.8, 0.7, 0.8]}
NOISE |= {"jt": [0.59, 0.5, 0.5], "eaml": [0.9, 0.9, 0.9]}


def found(test: str, runs: Runs, **given: object) -> Finding:
    """What a test of this kind finds on spam."""
    return CHECKS[test](runs, "spam", {"metric": "acc_final"} | GIVEN[test] | given)


HALF, MIDDLE, HIGH, FEW = [0.5] * 3, [0.7] * 3, [0.8] * 3, "fewer than 3 seeds"


@pytest.mark.parametrize("test, given, scores, verdict", [
    ("cell", {}, dict(ours=[0.75, 0.77, 0.76]), YES),  # 0.04 below, and 2 x 0.02 are allowed
    ("cell", {}, dict(ours=[0.75, 0.76, 0.76]), NO),
    ("cell", EXACT, dict(ours=[0.82] * 3), YES),  # at least 0.02 are
    ("cell", EXACT, dict(ours=[0.83] * 3), NO),
    ("cell", {}, dict(ours=MIDDLE, static_bound=[0.75]), FAR),
    ("cell", {}, dict(ours=MIDDLE, static_bound=[0.76]), NO),
    ("cell", {}, dict(ours=[0.77] * 3, static_bound=[0.7]), YES),
    ("cell", {}, dict(st=MIDDLE, static_bound=[0.75]), FAR), ("cell", {}, dict(st=MIDDLE), NONE),
    ("order", {}, dict(ours=[0.6, 0.7, 0.65], st=HALF), YES),
    ("order", {}, dict(ours=[0.4, 0.8, 0.6], st=HALF), OPEN),
    ("order", {}, dict(ours=[0.2, 0.6, 0.4], st=HALF), NO),
    ("order", {}, dict(ours=HALF, st=HALF), NO),
    ("order", LOWER, dict(ours=[0.3, 0.4, 0.35], st=HALF), YES),
    ("order", LOWER, dict(ours=[0.2, 0.6, 0.4], st=HALF), OPEN),
    ("order", LOWER, dict(ours=[0.6, 0.7, 0.65], st=HALF), NO),
    ("bound", OVER, dict(jt=HIGH, st=[0.7, 0.9, 0.8], ours=HALF), YES),
    ("bound", OVER, dict(jt=HIGH, st=HALF, ours=[0.88, 0.9, 0.89]), NO),
    ("bound", UNDER, dict(jt=HALF, st=[0.4, 0.6, 0.5], ours=HALF), YES),
    ("bound", UNDER, dict(jt=HALF, st=MIDDLE, ours=[0.4, 0.42, 0.41]), NO),
    ("near", {}, dict(ours=[0.85] * 3, jt=[0.9] * 3), YES),
    ("near", {}, dict(ours=[0.849] * 3, jt=[0.9] * 3), NO),
    ("near", {}, dict(ours=[0.951] * 3, jt=[0.9] * 3), NO),  # above is not comparable either
    ("nearest", {}, dict(ours=MIDDLE, jt=HIGH, st=[0.6] * 3), YES),
    ("nearest", {}, dict(ours=MIDDLE, jt=HIGH, st=[0.85] * 3), NO),
    ("shape", {}, dict(st=[0.5]), YES), ("shape", {"rows": 9325}, dict(st=[0.5]), NO),
    ("flat", {"upto": 0.05}, dict(ours=[0.9] * 3), YES),
    ("flat", {"upto": 0.1}, dict(ours=[0.9] * 3), NO),
    ("flat", {"methods": ["record", "ours"], "upto": 0.1}, dict(ours=HIGH, record=HIGH), NO),
    ("drops", {"after": 0.05}, dict(ours=HIGH), YES),
    ("drops", {"after": 0.1}, dict(ours=HIGH), NO), ("widest", {}, dict(ours=HIGH, st=HIGH), YES),
    ("widest", {"than": ["st", "record"]}, dict(ours=HIGH, st=HIGH, record=HIGH), NO),
])  # fmt: skip
def test_each_kind_of_test_on_runs_with_a_known_answer(test, given, scores, verdict):
    finding = found(test, with_noise(made(**scores), NOISE), **given)
    assert (finding.verdict, finding.undecided) == verdict


def test_the_numbers_behind_a_verdict():
    numbers = found("cell", made(ours=[0.75, 0.77, 0.76])).numbers
    assert "0.760 ± 0.010 (3)" in numbers and "tolerance 0.040" in numbers
    numbers = found("order", made(ours=[0.6, 0.8, 0.7], st=[0.5, 0.5, 0.5, 0.1])).numbers
    assert "+0.200 [-0.048, +0.448] (n=3)" in numbers  # of the seeds that both have; t is 4.303


@pytest.mark.parametrize("test, given, why", [
    ("cell", {"method": "gst"}, FEW), ("order", {"than": ["gst"]}, FEW),
    ("near", {"target": "gst"}, FEW), ("nearest", {"among": ["ours", "gst"]}, FEW),
    ("flat", {"methods": ["eaml"], "upto": 0.1}, FEW), ("widest", {"than": ["jt"]}, "guessing"),
    ("flat", {"methods": ["jt"], "upto": 0.1}, "JT without noise has 0.590, guessing 0.500"),
])  # fmt: skip
def test_runs_that_cannot_decide(test, given, why):
    runs = made(ours=MIDDLE, st=HALF, jt=HALF, gst=[0.5, 0.6], eaml=[0.9, 0.9])
    with pytest.raises(checks.CannotBeJudged, match=why):
        found(test, with_noise(runs, NOISE), **given)


@pytest.mark.parametrize("test, given, why", [
    ("order", {"better": ["gst"]}, "GST"), ("near", {"target": "late"}, "no common seed"),
    ("nearest", {"among": ["ours", "gst"]}, "GST"), ("flat", {"upto": 1}, "flatness probe of Ours"),
    ("widest", {}, "flatness probe of Ours"),
])  # fmt: skip
def test_what_did_not_run_decides_nothing(test, given, why):
    runs = made(ours=MIDDLE, st=HALF, jt=HIGH, late=[0.1] * 3)
    runs.frame.loc[runs.frame.variant == "late", "seed"] += 5
    with pytest.raises(checks.NotRun, match=why):
        found(test, runs, **given)
    with pytest.raises(checks.NotRun, match="no run"):
        found("shape", made("twonorm", ours=[0.6]))


@pytest.mark.parametrize("test, given, agrees", [
    ("order", {"better": ["ours"], "than": ["st"]}, "yes"), ("near", {}, ""),
    ("order", {"better": ["ours"], "than": ["st", "jt"]}, "no"),
    ("order", {"better": ["ours"], "than": ["ours_wo_fr"]}, ""),
    ("bound", {"method": "ours", "over": ["st", "jt"]}, "no"),
    ("bound", OVER | {"method": "jt"}, "yes"), ("bound", {"method": "st", "under": ["jt"]}, "yes"),
    ("nearest", {"method": "ours", "target": "jt", "among": ["st", "ours"]}, "yes"),
    ("nearest", {"method": "st", "target": "jt", "among": ["st", "ours"]}, "no"),
])  # fmt: skip
def test_whether_the_papers_own_table_agrees(test, given, agrees):
    assert checks.in_table_2(test, {"st": 0.5, "ours": 0.7, "jt": 0.8}, given) == agrees


def test_every_claim_can_be_decided():
    """With all methods run on all datasets, none lacks a parameter; its text is complete."""
    methods = [*PAPER_METHODS, *PAPER_VARIANTS]
    scores, noise = ({m: own for m in methods} for own in ([0.5, 0.6, 0.7], [0.7, 0.7, 0.5]))
    whole = joined(*(made(stream, **scores) for stream in DATASETS))
    judged = claims.judge(with_noise(whole, noise))
    assert len(judged) == len(claims.claims()) and NOT_RUN not in set(judged.verdict)
    assert judged[["where", "text", "numbers"]].ne("").all(axis=None)
    assert not judged.text.str.contains("[{}]").any()
    assert set(judged.id) == set(claims.statements()) and set(judged.test) == set(CHECKS)
    assert not judged.duplicated(["id", "text"]).any() and set(judged.dataset) == set(DATASETS)


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is not beside the repository")
def test_the_numbers_are_those_that_the_paper_prints():
    def table(head: str) -> list[list[str]]:
        """The rows below a heading."""
        rest = latex.split(f"\\textbf{{{head}}}")[1].split(r"\end{tabular}")[0]
        return [line.replace(r"\hline", "").split("&") for line in rest.split(r"\\")[1:-1]]

    latex = PAPER.read_text(encoding="utf-8").replace(r"\_", "_")
    methods = {row["name"]: method for method, row in METHODS.items()}
    for name, *cells in table("Method"):
        for dataset, text in zip(DATASETS, cells, strict=True):
            printed = tuple(map(float, text.split(r"$\pm$")))
            assert claims.paper_cell(methods[name.strip()], dataset) == printed
    shapes = {claim.dataset: claim.given for claim in claims.claims() if claim.test == "shape"}
    for name, *numbers in table("Dataset"):
        given = shapes[name.strip().lower().replace("spambase", "spam")]
        assert [*given.values()] == [int(number.replace(",", "")) for number in numbers]


def verdict_on_spam(runs: Runs, jittered: Runs | None = None) -> str:
    judged = claims.judge(runs, jittered).query("id == 'gap-to-record' and dataset == 'spam'")
    return judged.verdict.item()


def test_stand_ins_and_numbers_that_rounding_decides_decide_nothing():
    runs, other = (made(ours=own, record=HALF) for own in (HIGH, HALF))
    assert verdict_on_spam(runs) == verdict_on_spam(runs, runs) == REPRODUCED
    assert verdict_on_spam(runs, other) == NOT_JUDGED
    assert verdict_on_spam(runs, made(ours=HIGH)) == REPRODUCED  # jittered runs of Ours alone
    stand_in = dataclasses.replace(runs, frame=runs.frame.assign(standing="stand-in"))
    assert verdict_on_spam(stand_in) == NOT_JUDGED


def test_claims_are_counted_over_the_protocols():
    """Ours is above Record with few gold rows only; with much, too few seeds ran."""
    few, much = made(ours=HIGH, record=HALF), made(ours=[0.8, 0.8], record=[0.9, 0.9])
    both = zip(PROTOCOLS, (few, much), strict=True)
    judged = [claims.judge(runs).assign(setting=setting) for setting, runs in both]
    counted = claims.held(pd.concat(judged))
    text = "Ours is above Record on Spam (Acc_t)"
    assert counted.xs(text, level="text").item() == claims.HELD[1]
    assert set(counted) <= {*claims.HELD} and len(counted) == len(claims.claims())
    prefix = claims.judge(dataclasses.replace(few, frame=few.frame.assign(setting="short")))
    assert set(prefix.dataset) == {"spam"}
    tested, yes = ((prefix.verdict != NOT_RUN).sum(), (prefix.verdict == REPRODUCED).sum())
    said = f"{tested} of the paper's {len(prefix)} claims can be tested: {yes} {REPRODUCED}"
    assert claims.summary(prefix).startswith(said)
