"""Every kind of test on scores, on runs where the answer is known."""

import dataclasses

import pandas as pd
import pytest
from report_made_up import results

from sdsl.report.claims import book
from sdsl.report.claims.book import TESTS
from sdsl.report.claims.claim import Finding
from sdsl.report.runs.results import Results


def runs(**values: list[float]) -> Results:
    """Acc_T, Acc_t and forgetting of methods on satimage, one value per seed."""
    base = results(methods=tuple(values), datasets=("satimage",), seeds=3)
    frame = base.frame.sort_values(["variant", "seed"])
    flat = [value for method in sorted(values) for value in values[method]]
    frame["acc_final"] = frame["acc_online"] = frame["forgetting"] = flat
    return Results(frame, base.R, base.curves)


def ask(given: Results, test: str, **parameters) -> Finding:
    """The finding of a claim about satimage."""
    about = {"id": "made-up", "where": "4", "text": "", "dataset": "satimage"}
    return TESTS[test](**about, metric="acc_final", **parameters).check(given)


CELL = {"test": "cell", "method": "ours", "mean": 0.8, "std": 0.02, "tolerance_std": 0.02}


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
    claim = {"test": "order", "better": ["ours"], "than": ["record"]}
    found = ask(runs(ours=ours, record=[0.70, 0.701, 0.702]), **claim)
    assert (found.verdict, found.undecided) == (verdict, undecided)
    assert "Ours − Record" in found.numbers
    assert ask(runs(ours=ours), **claim).numbers == "no run of Record"


def test_an_order_where_less_is_better():
    claim = {"test": "order", "better": ["ours"], "than": ["record"], "lower": True}
    low, high = [0.1, 0.1, 0.1], [0.2, 0.3, 0.2]
    assert ask(runs(ours=low, record=high), **claim).verdict == "reproduced"
    assert ask(runs(ours=high, record=low), **claim).verdict == "not reproduced"
    undecided = ask(runs(ours=[0.1, 0.3, 0.2], record=[0.3, 0.2, 0.2]), **claim)
    assert (undecided.verdict, undecided.undecided) == ("not reproduced", True)


def test_one_seed_decides_no_order():
    one = results(methods=("ours", "record"), datasets=("satimage",), seeds=1)
    answer = ask(one, "order", better=["ours"], than=["record"])
    assert answer.verdict == "not run"
    assert "two common seeds" in answer.numbers


def test_a_bound_is_broken_only_by_an_interval():
    upper = {"test": "bound", "method": "jt", "over": ["ours"]}
    lower = {"test": "bound", "method": "st", "under": ["ours"]}
    assert ask(runs(jt=[0.8] * 3, ours=[0.9, 0.7, 0.81]), **upper).verdict == "reproduced"
    assert ask(runs(jt=[0.8] * 3, ours=[0.9, 0.9, 0.9]), **upper).verdict == "not reproduced"
    assert ask(runs(st=[0.8] * 3, ours=[0.9, 0.7, 0.79]), **lower).verdict == "reproduced"
    assert ask(runs(st=[0.8] * 3, ours=[0.7, 0.7, 0.7]), **lower).verdict == "not reproduced"


def test_a_bound_that_holds_shows_the_nearest_method():
    given = runs(jt=[0.9] * 3, ours=[0.8] * 3, st=[0.5] * 3)
    found = ask(given, "bound", method="jt", over=["st", "ours"])
    assert found.numbers == "nearest: Ours − JT -0.100 [-0.100, -0.100] (n=3)"


def test_near_and_nearest():
    given = runs(jt=[0.9] * 3, ours=[0.86] * 3, st=[0.93] * 3)
    near = {"test": "near", "method": "ours", "target": "jt", "within": 0.05}
    nearest = {"test": "nearest", "method": "ours", "target": "jt", "among": ["ours", "st"]}
    assert ask(given, **near).verdict == "reproduced"
    assert ask(given, **{**near, "within": 0.03}).verdict == "not reproduced"
    assert ask(given, **nearest).verdict == "not reproduced"
    assert ask(given, **{**nearest, "method": "st"}).verdict == "reproduced"
    assert ask(runs(ours=[0.9] * 3), **nearest).verdict == "not run"


def test_a_cell_below_the_end_of_the_trade_off_curve_is_within_reach():
    given = results(methods=("ours", "static_bound"), datasets=("twonorm",))
    given.frame["acc_final"] = 0.5  # the paper has .964 ± .015
    cells = [claim for claim in book.claims() if claim.id == "cell"]
    (cell,) = [one for one in cells if (one.method, one.dataset) == ("ours", "twonorm")]
    assert cell.check(given).verdict == "out of reach"
    row = {"stream_sha256": "e" * 64, "prefix": "literal", "front": True, "weight": 0.0}
    curve = pd.DataFrame([{**row, "acc_online": 0.9, "acc_final": 0.97}])
    found = cell.check(dataclasses.replace(given, tradeoff=curve))
    assert found.verdict == "not reproduced"
    assert "end of the static trade-off curve 0.970" in found.numbers
    other = curve.assign(stream_sha256="0" * 64)  # of other rows: it says nothing here
    assert cell.check(dataclasses.replace(given, tradeoff=other)).verdict == "out of reach"
