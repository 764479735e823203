"""Which method to use: ranks, their uncertainty, and where another method is ahead."""

import numpy as np
import pytest
from report_made_up import results

from sdsl.report.claims import statistics
from sdsl.report.claims.ranking import ranking


def given(scores: dict[str, dict[str, list[float]]]):
    """dataset -> method -> Acc_t by seed"""
    methods = tuple(next(iter(scores.values())))
    made = results(methods=methods, datasets=tuple(scores), seeds=2)
    for dataset, by_method in scores.items():
        for method, values in by_method.items():
            rows = (made.frame.stream == dataset) & (made.frame.variant == method)
            made.frame.loc[rows, "acc_online"] = values
    return made


CLEAR = {
    "spam": {"st": [0.95, 0.95], "ours": [0.8, 0.8], "jt": [0.99, 0.99]},
    "twonorm": {"st": [0.7, 0.7], "ours": [0.9, 0.9], "jt": [0.99, 0.99]},
    "satimage": {"st": [0.4, 0.4], "ours": [0.9, 0.9], "jt": [0.99, 0.99]},
}


def test_ranks_are_of_methods_that_read_no_labels():
    found = ranking(given(CLEAR), "acc_online")
    assert found.best == "ours"
    assert found.streams == ["satimage", "spam", "twonorm"]
    assert list(found.table.index) == ["ours", "st"]
    assert found.table["rank"].tolist() == pytest.approx([4 / 3, 5 / 3])
    assert found.worst == ("spam", 0.8)
    (lead,) = found.exceptions
    assert (lead.stream, lead.other, lead.others_mean, lead.mean) == ("spam", "st", 0.95, 0.8)


def test_three_streams_that_disagree_tell_nothing_apart():
    found = ranking(given(CLEAR), "acc_online")
    # Drawn three times from three streams, spam comes at least twice in 7 of 27 draws.
    assert found.table.ahead["st"] == pytest.approx(7 / 27, abs=0.03)
    assert found.alike == ["st"]
    assert found.table.loc["ours", ["low", "high"]].tolist() == [1, 2]


def test_what_always_leads_is_told_apart():
    scores = {name: {"st": [0.5, 0.6], "ours": [0.8, 0.9]} for name in ("spam", "twonorm")}
    found = ranking(given(scores), "acc_online")
    assert found.alike == []
    assert found.table["first"].tolist() == [1, 0]
    assert found.exceptions == []


def test_seeds_are_redrawn_within_a_stream():
    # Seeds .5 and .9 against .6 and .6: the mean of two draws is .5, .7, .7 or .9.
    draws = statistics.bootstrap_ranks(
        {"a": {"x": np.array([0.5, 0.9]), "y": np.array([0.6, 0.6])}}
    )
    assert set(draws.x) == {1, 2}
    assert (draws.x == 1).mean() == pytest.approx(0.75, abs=0.03)


def test_a_method_that_did_not_run_everywhere_is_not_ranked():
    made = given(CLEAR)
    made.frame.drop(made.frame[made.frame.variant == "st"].index[-2:], inplace=True)
    assert ranking(made, "acc_online") is None  # ours alone is left
