"""The claims of the paper: each kind of check on hand-made runs, claims.yaml, the verdicts."""

import dataclasses
import re

import pytest
import support
from made_runs import joined, made, with_curves

from sdsl.report import checks, claims
from sdsl.report.checks import CHECKS, NOT_REPRODUCED, NOT_RUN, OUT_OF_REACH, REPRODUCED, NotRun
from sdsl.report.names import DATASETS, METHODS, PAPER_METHODS, PAPER_VARIANTS

PAPER = support.ROOT.parent / "shared" / "paper.tex"
CELL = {"metric": "acc_final", "method": "ours", "mean": 0.8, "std": 0.02, "tolerance_std": 0.02}
ORDER = {"metric": "acc_final", "better": ["ours"], "than": ["st"]}
NOISE = {"methods": ["ours"], "loss": 0.02}
OVER, UNDER = (
    {"metric": "acc_final", "method": "jt", k: ["st", "ours"]} for k in ("over", "under")
)
NEAREST = {"metric": "acc_final", "method": "ours", "target": "jt", "among": ["st", "ours"]}
NEAR = {"metric": "acc_final", "method": "ours", "target": "jt", "within": 0.05}


@pytest.mark.parametrize(
    "printed, scores, verdict",
    [
        ({}, dict(ours=[0.75, 0.77]), REPRODUCED),  # 0.04 below, and 2 x 0.02 are allowed
        ({}, dict(ours=[0.75, 0.76]), NOT_REPRODUCED),
        ({"tolerance_std": 0.0}, dict(ours=[0.82]), REPRODUCED),  # at least 0.02 are
        ({"tolerance_std": 0.0}, dict(ours=[0.83]), NOT_REPRODUCED),
        ({}, dict(ours=[0.7], static_bound=[0.75]), OUT_OF_REACH),
        ({}, dict(ours=[0.7], static_bound=[0.76]), NOT_REPRODUCED),
        ({}, dict(ours=[0.77], static_bound=[0.7]), REPRODUCED),
        ({}, dict(st=[0.7], static_bound=[0.75]), OUT_OF_REACH),
        ({}, dict(st=[0.7]), NOT_RUN),
    ],
)
def test_a_cell_of_the_table(printed, scores, verdict):
    assert checks.cell(made(**scores), "spam", CELL | printed).verdict == verdict


def test_a_cell_shows_its_numbers():
    found = checks.cell(made(ours=[0.75, 0.77]), "spam", CELL).numbers
    assert "0.760 ± 0.014 (2)" in found and "tolerance 0.040" in found  # 0.02 / sqrt(2)


@pytest.mark.parametrize(
    "ours, st, lower, verdict, undecided",
    [  # the interval of two differences is from the one to the other
        ([0.6, 0.8], [0.5, 0.5], False, REPRODUCED, False),
        ([0.4, 0.8], [0.5, 0.5], False, NOT_REPRODUCED, True),
        ([0.2, 0.6], [0.5, 0.5], False, NOT_REPRODUCED, False),
        ([0.5, 0.5], [0.5, 0.5], False, NOT_REPRODUCED, False),
        ([0.2, 0.4], [0.5, 0.5], True, REPRODUCED, False),
        ([0.2, 0.6], [0.5, 0.5], True, NOT_REPRODUCED, True),
        ([0.6, 0.8], [0.5, 0.5], True, NOT_REPRODUCED, False),
    ],
)
def test_an_order(ours, st, lower, verdict, undecided):
    found = checks.order(made(ours=ours, st=st), "spam", ORDER | {"lower": lower})
    assert (found.verdict, found.undecided) == (verdict, undecided)


def test_an_order_shows_the_difference_and_its_interval():
    found = checks.order(made(ours=[0.6, 0.8], st=[0.5, 0.5, 0.1]), "spam", ORDER)
    assert "+0.200 [+0.100, +0.300] (n=2)" in found.numbers  # of the seeds that both have


@pytest.mark.parametrize(
    "given, jt, st, ours, verdict",
    [
        (OVER, [0.8, 0.8], [0.7, 0.9], [0.5, 0.5], REPRODUCED),
        (OVER, [0.8, 0.8], [0.5, 0.5], [0.81, 0.9], NOT_REPRODUCED),
        (UNDER, [0.5, 0.5], [0.4, 0.6], [0.5, 0.5], REPRODUCED),
        (UNDER, [0.5, 0.5], [0.6, 0.6], [0.4, 0.45], NOT_REPRODUCED),
    ],
)
def test_a_bound(given, jt, st, ours, verdict):
    assert checks.bound(made(jt=jt, st=st, ours=ours), "spam", given).verdict == verdict


@pytest.mark.parametrize("ours, verdict", [([0.85], REPRODUCED), ([0.849], NOT_REPRODUCED)])
def test_near_is_at_most_so_much_below(ours, verdict):
    assert checks.near(made(ours=ours, jt=[0.9]), "spam", NEAR).verdict == verdict


@pytest.mark.parametrize("st, verdict", [([0.6], REPRODUCED), ([0.9], NOT_REPRODUCED)])
def test_nearest_counts_both_sides(st, verdict):
    runs = made(st=st, ours=[0.65, 0.7], jt=[0.8])
    assert checks.nearest(runs, "spam", NEAREST).verdict == verdict


@pytest.mark.parametrize("rows, verdict", [(9324, REPRODUCED), (9325, NOT_REPRODUCED)])
def test_the_shape_of_the_data(rows, verdict):
    given = {"rows": rows, "features": 500, "classes": 2}
    assert checks.shape(made(st=[0.5]), "spam", given).verdict == verdict


@pytest.mark.parametrize(
    "test, given, verdict",
    [  # Ours has 0.90, 0.88 and 0.85 at the bounds 0, 0.05 and 0.1; Record is wider, ST narrower
        ("flat", NOISE | {"upto": 0.05}, REPRODUCED),
        ("flat", NOISE | {"upto": 0.1}, NOT_REPRODUCED),
        ("flat", NOISE | {"methods": ["record", "ours"], "upto": 0.1}, NOT_REPRODUCED),
        ("drops", NOISE | {"after": 0.05}, REPRODUCED),
        ("drops", NOISE | {"after": 0.1}, NOT_REPRODUCED),
        ("widest", {"method": "ours", "than": ["st"], "loss": 0.02}, REPRODUCED),
        ("widest", {"method": "ours", "than": ["st", "record"], "loss": 0.02}, NOT_REPRODUCED),
    ],
)
def test_under_noise(test, given, verdict):
    noise = {"ours": [0.9, 0.88, 0.85], "record": [0.5, 0.5, 0.5], "st": [0.8, 0.7, 0.8]}
    runs = with_curves(made(ours=[0.9, 0.9], record=[0.5], st=[0.8]), noise=noise)
    assert CHECKS[test](runs, "spam", given).verdict == verdict


@pytest.mark.parametrize(
    "test, given, why",
    [
        ("order", ORDER | {"better": ["gst"]}, "GST"),
        ("order", ORDER | {"better": ["eaml"]}, "two common seeds"),
        ("bound", UNDER | {"under": ["eaml"], "method": "st"}, "two common seeds"),
        ("near", NEAR | {"target": "late"}, "no common seed"),
        ("nearest", NEAREST | {"among": ["ours", "gst"]}, "GST"),
        ("shape", {}, "no run"),
        ("flat", NOISE | {"upto": 1}, "flatness probe of Ours"),
        ("widest", {"method": "ours", "than": ["st"], "loss": 0}, "flatness probe of Ours, ST"),
    ],
)
def test_what_did_not_run_decides_nothing(test, given, why):
    runs = made(ours=[0.6, 0.8], st=[0.5, 0.5], jt=[0.9, 0.9], eaml=[0.4], late=[0.1, 0.1])
    late = runs.frame.variant == "late"
    runs.frame.loc[late, "seed"] += 5
    with pytest.raises(NotRun, match=why):
        CHECKS[test](runs, "twonorm" if test == "shape" else "spam", given)


@pytest.mark.parametrize(
    "test, given, agrees",
    [
        ("order", {"better": ["ours"], "than": ["st"]}, "yes"),
        ("order", {"better": ["ours"], "than": ["st", "jt"]}, "no"),
        ("order", {"better": ["ours"], "than": ["ours_wo_fr"]}, ""),
        ("bound", {"method": "jt", "over": ["st", "ours"]}, "yes"),
        ("bound", {"method": "ours", "over": ["st", "jt"]}, "no"),
        ("bound", {"method": "st", "under": ["jt"]}, "yes"),
        ("nearest", {"method": "ours", "target": "jt", "among": ["st", "ours"]}, "yes"),
        ("nearest", {"method": "st", "target": "jt", "among": ["st", "ours"]}, "no"),
        ("near", {}, ""),
    ],
)
def test_whether_the_papers_own_table_agrees(test, given, agrees):
    assert checks.in_table_2(test, {"st": 0.5, "ours": 0.7, "jt": 0.8}, given) == agrees


def test_every_claim_can_be_decided():
    """With all methods run on all datasets, none lacks a parameter; its text is complete."""
    methods = [*PAPER_METHODS, *PAPER_VARIANTS]
    scores, noise = ({method: own for method in methods} for own in ([0.5, 0.6], [0.6, 0.6, 0.5]))
    whole = joined(*(made(stream, **scores) for stream in DATASETS))
    judged = claims.judge(with_curves(whole, noise=noise))
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
    order = "mg_2c_2d ug_2c_2d ug_2c_3d ug_2c_5d optdigits satimage spam twonorm".split()
    for name, *cells in table("Method"):
        for dataset, text in zip(order, cells, strict=True):
            printed = tuple(map(float, text.split(r"$\pm$")))
            assert claims.paper_cell(methods[name.strip()], dataset) == printed
    shapes = {claim.dataset: claim.given for claim in claims.claims() if claim.test == "shape"}
    for name, *numbers in table("Dataset"):
        given = shapes[name.strip().lower().replace("spambase", "spam")]
        assert [*given.values()] == [int(number.replace(",", "")) for number in numbers]


def test_verdicts_on_the_letter_and_their_summary():
    """Ours is above ST, Ours to the letter below: the claim holds in one column alone."""
    runs = made(ours=[0.8, 0.9], ours_literal=[0.1, 0.2], record=[0.5, 0.5])
    (found,) = (
        claims.judge(runs).query("id == 'gap-to-record' and dataset == 'spam'").to_dict("records")
    )
    assert (found["verdict"], found["letter"]) == (REPRODUCED, NOT_REPRODUCED)
    prefix = claims.judge(dataclasses.replace(runs, frame=runs.frame.assign(setting="short")))
    assert set(prefix.dataset) == {"spam"} and claims.judge(made(st=[0.5])).letter.eq("").all()
    assert claims.summary(prefix.iloc[:0]).startswith("0 of the paper's 0 claims")
    tested = prefix[prefix.verdict != NOT_RUN]
    said = claims.summary(prefix)
    assert said.startswith(f"{len(tested)} of the paper's {len(prefix)} claims")
    assert f"{(prefix.verdict == REPRODUCED).sum()} {REPRODUCED}" in said
