"""Every kind of claim on runs where the answer is known."""

import numpy as np
import pandas as pd
import pytest
from made_up import results

from sdsl.report.claims import checks, verdicts
from sdsl.report.runs.results import Results


def runs(**values: list[float]) -> Results:
    """Acc_T and Acc_t of methods on satimage, one value a seed."""
    base = results(methods=tuple(values), datasets=("satimage",), seeds=3)
    frame = base.frame.sort_values(["variant", "seed"])
    order = sorted(values)
    flat = [v for m in order for v in values[m]]
    frame["acc_final"] = frame["acc_online"] = frame["forgetting"] = flat
    return Results(frame, base.R, base.curves)


def ask(found: Results, **claim) -> checks.Finding:
    return checks.run({"metric": "acc_final", **claim}, "satimage", found)


CELL = {"test": "cell", "method": "ours", "mean": 0.8, "std": 0.02}


@pytest.mark.parametrize(
    ("ours", "bound", "verdict"),
    [
        ([0.80, 0.82, 0.81], 0.9, "reproduced"),
        ([0.76, 0.76, 0.76], 0.9, "reproduced"),  # 2 x 0.02 away, and no more
        ([0.75, 0.75, 0.75], 0.9, "not reproduced"),
        ([0.50, 0.80, 0.60], 0.9, "not reproduced"),  # a wide spread reproduces nothing
        ([0.70, 0.70, 0.70], 0.75, "out of reach"),
        ([0.70, 0.70, 0.70], 0.77, "not reproduced"),  # a method at the bound would pass
        ([0.79, 0.80, 0.81], 0.70, "reproduced"),  # whatever the bound was measured to be
    ],
)
def test_a_cell(ours, bound, verdict):
    found = ask(runs(ours=ours, static_bound=[bound] * 3), **CELL)
    assert found.verdict == verdict
    assert f"static bound {bound:.3f}" in found.numbers


def test_a_cell_without_runs():
    assert ask(runs(st=[0.1, 0.2, 0.3]), **CELL).verdict == "not run"
    assert ask(runs(static_bound=[0.5] * 3), **CELL).verdict == "out of reach"


@pytest.mark.parametrize(
    ("ours", "verdict", "undecided"),
    [
        ([0.80, 0.81, 0.82], "reproduced", False),
        ([0.90, 0.70, 0.71], "not reproduced", True),  # differences .2, 0, .01 less the .001
        ([0.60, 0.61, 0.62], "not reproduced", False),
    ],
)
def test_an_order(ours, verdict, undecided):
    claim = {"test": "order", "better": "ours", "than": ["record"]}
    found = ask(runs(ours=ours, record=[0.70, 0.701, 0.702]), **claim)
    assert (found.verdict, found.undecided) == (verdict, undecided)
    assert "Ours − Record" in found.numbers
    assert ask(runs(ours=ours), **claim).numbers == "no run of Record"


def test_an_order_where_less_is_better():
    claim = {"test": "order", "better": "ours", "than": ["record"], "lower": True}
    low, high = [0.1, 0.1, 0.1], [0.2, 0.3, 0.2]
    assert ask(runs(ours=low, record=high), **claim).verdict == "reproduced"
    assert ask(runs(ours=high, record=low), **claim).verdict == "not reproduced"


def test_a_bound_is_broken_only_by_an_interval():
    upper = {"test": "bound", "method": "jt", "over": ["ours"]}
    lower = {"test": "bound", "method": "st", "under": ["ours"]}
    assert ask(runs(jt=[0.8] * 3, ours=[0.9, 0.7, 0.81]), **upper).verdict == "reproduced"
    assert ask(runs(jt=[0.8] * 3, ours=[0.9, 0.9, 0.9]), **upper).verdict == "not reproduced"
    assert ask(runs(st=[0.8] * 3, ours=[0.9, 0.7, 0.79]), **lower).verdict == "reproduced"
    assert ask(runs(st=[0.8] * 3, ours=[0.7, 0.7, 0.7]), **lower).verdict == "not reproduced"


def test_near_and_nearest():
    found = runs(jt=[0.9] * 3, ours=[0.86] * 3, st=[0.93] * 3)
    near = {"test": "near", "method": "ours", "target": "jt", "within": 0.05}
    nearest = {"test": "nearest", "method": "ours", "target": "jt", "among": ["ours", "st"]}
    assert ask(found, **near).verdict == "reproduced"
    assert ask(found, **{**near, "within": 0.03}).verdict == "not reproduced"
    assert ask(found, **nearest).verdict == "not reproduced"
    assert ask(found, **{**nearest, "method": "st"}).verdict == "reproduced"
    assert ask(runs(ours=[0.9] * 3), **nearest).verdict == "not run"


def test_flat_ranges():
    b = np.array([0, 0.05, 0.1, 0.15])
    assert checks.flat_range(b, np.array([0.9, 0.88, 0.87, 0.89]), 0.02) == 0.05
    assert checks.flat_range(b, np.array([0.9, 0.9, 0.9, 0.9]), 0.02) == 0.15
    assert checks.flat_range(b, np.array([0.9, 0.5, 0.9, 0.9]), 0.02) == 0.0


def test_flatness_claims():
    # Made up: ours loses b^2, the others 4 b^2; 0.02 is passed at .15 (.0225) and at .1 (.04).
    found = results(methods=("ours", "record", "ours_wo_fr"), datasets=("satimage",), seeds=2)
    flat = {"test": "flat", "methods": ["ours"], "loss": 0.02}
    assert ask(found, **flat, upto=0.1).verdict == "reproduced"
    assert ask(found, **flat, upto=0.15).verdict == "not reproduced"
    drops = {"test": "drops", "methods": ["ours"], "loss": 0.02}
    assert ask(found, **drops, after=0.1).verdict == "reproduced"
    widest = {"test": "widest", "method": "ours", "than": ["record"], "loss": 0.02}
    answer = ask(found, **widest)
    assert answer.verdict == "reproduced"
    assert answer.numbers == "flat ranges: Ours [0, 0.1], Record [0, 0.05]"
    assert ask(runs(st=[0.1] * 3), **widest).verdict == "not run"


def test_the_book_holds_table_2_and_every_claim_can_be_asked():
    claims = list(verdicts.claims())
    assert sum(claim["test"] == "cell" for claim in claims) == 56
    assert verdicts.paper_cell("jt", "ug_2c_2d") == (0.907, 0.0252)
    assert verdicts.paper_cell("ours", "twonorm") == (0.964, 0.015)
    assert verdicts.paper_cell("eaml", "spam") == (0.725, 0.014)
    assert {claim["test"] for claim in claims} == set(checks.KINDS)
    for claim in claims:
        assert "{" not in claim["text"]
        assert claim["where"][0] == "4"
    found = verdicts.judge(results(seeds=2, T=3))
    assert len(found) == len(claims)
    assert sum(verdicts.counts(found).values()) == len(claims)
    assert verdicts.counts(found)["not run"] == 0


def test_nothing_run_is_not_run():
    empty = results(methods=("ours",), datasets=("spam",), seeds=1)
    empty = Results(empty.frame.iloc[:0])
    found = verdicts.judge(empty)
    assert verdicts.counts(found)["not run"] == len(found)


def test_the_papers_own_table_is_asked_too():
    said = {(v.id, v.dataset): v.in_paper for v in verdicts.judge(results(seeds=1, T=2))}
    assert said["jt-highest", "spam"] == ""  # the last of the two metrics, Acc_t, has no table
    claims = {(c["id"], c["dataset"], c["metric"]): c for c in verdicts.claims()}
    assert verdicts.in_paper(claims["jt-highest", "spam", "acc_final"]) == "no"  # Ours .973 > .971
    assert verdicts.in_paper(claims["st-lowest", "optdigits", "acc_final"]) == "no"  # PL_conf .406
    assert verdicts.in_paper(claims["ours-best-final", "spam", "acc_final"]) == "yes"
    assert (
        verdicts.in_paper(claims["closest-to-jt", "spam", "acc_final"]) == "no"
    )  # DANN and Ours tie


def test_the_counts_open_the_text():
    text = verdicts.markdown({"literal": verdicts.judge(results(seeds=2, T=2))})
    assert text.splitlines()[2].startswith("- Literal streams")
    assert "reproduced" in text.splitlines()[2]


def test_one_seed_decides_no_order():
    one = results(methods=("ours", "record"), datasets=("satimage",), seeds=1)
    answer = ask(one, test="order", better="ours", than=["record"])
    assert answer.verdict == "not run"
    assert "two common seeds" in answer.numbers
    assert isinstance(one.frame, pd.DataFrame)
