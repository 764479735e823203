"""The tests on the flatness probe, on made-up curves."""

import numpy as np
import pytest
from report_made_up import results

from sdsl.report.claims.book import TESTS
from sdsl.report.claims.claim import Finding
from sdsl.report.claims.noise_checks import NoiseCurve
from sdsl.report.runs.results import Results


def ask(given: Results, test: str, **parameters) -> Finding:
    about = {"id": "made-up", "where": "4", "text": "", "dataset": "satimage"}
    return TESTS[test](**about, **parameters).check(given)


@pytest.mark.parametrize(
    ("accuracy", "flat_up_to"),
    [
        ([0.9, 0.88, 0.87, 0.89], 0.05),
        ([0.9, 0.9, 0.9, 0.9], 0.15),
        ([0.9, 0.5, 0.9, 0.9], 0.0),
    ],
)
def test_flat_ranges(accuracy, flat_up_to):
    curve = NoiseCurve(np.array([0, 0.05, 0.1, 0.15]), np.array(accuracy))
    assert curve.flat_range(0.02) == flat_up_to


def test_flatness_claims():
    # Ours loses b^2, the others 4 b^2: more than 0.02 from .15 (.0225) and from .1 (.04) on.
    given = results(methods=("ours", "record", "ours_wo_fr"), datasets=("satimage",), seeds=2)
    flat = {"test": "flat", "methods": ["ours"], "loss": 0.02}
    assert ask(given, **flat, upto=0.1).verdict == "reproduced"
    assert ask(given, **flat, upto=0.15).verdict == "not reproduced"
    drops = {"test": "drops", "methods": ["ours"], "loss": 0.02}
    assert ask(given, **drops, after=0.1).verdict == "reproduced"
    widest = {"test": "widest", "method": "ours", "than": ["record"], "loss": 0.02}
    answer = ask(given, **widest)
    assert answer.verdict == "reproduced"
    assert answer.numbers == "flat ranges: Ours [0, 0.1], Record [0, 0.05]"


def test_without_the_probe_nothing_is_decided():
    given = results(methods=("st",), datasets=("satimage",), seeds=3)
    found = ask(given, "widest", method="ours", than=["record"], loss=0.02)
    assert (found.verdict, found.numbers) == ("not run", "no flatness probe of Ours, Record")
    found = ask(given, "flat", methods=["ours"], loss=0.02, upto=0.1)
    assert (found.verdict, found.numbers) == ("not run", "no flatness probe of Ours")
