"""python -m sdsl.bench method and context at tiny sizes; no time is judged here."""

import json

import pandas as pd
import pytest
import torch

from sdsl.bench import __main__ as bench
from sdsl.bench import context, method


def test_every_method_is_measured_on_the_eight_streams():
    assert len(method.STREAMS) == 8 and set(method.STREAMS) == set(context.STREAMS)
    assert {"ours", "tracker", "ours_tracker", "scargc", "static_bound"} < set(method.METHODS)


def test_method_has_ratios_to_ours_and_to_a_bare_loop(tmp_path, capsys):
    assert bench.main(["method", "--tiny", "--out", str(tmp_path)]) == 0
    saved = json.loads((tmp_path / "method.json").read_text())
    assert len(saved["load_before_and_after"]) == 2
    bare, *rows = saved["rows"]
    by_name = {row["what"]: row["raw"] for row in rows}
    assert set(by_name) == {"ours", "st", "tracker"}
    for raw in by_name.values():
        ms = raw["alone_ms"]["twonorm"]
        assert raw["of_ours"]["twonorm"] == ms / by_name["ours"]["alone_ms"]["twonorm"]
        assert raw["of_bare"]["twonorm"] == ms / bare["raw"]["twonorm"]
        assert raw["fused_ms"]["twonorm"] > 0
    assert by_name["ours"]["of_ours"]["twonorm"] == 1
    assert by_name["st"]["alone_ms"]["twonorm"] < by_name["ours"]["alone_ms"]["twonorm"]
    assert "| method | tracker | alone " in (tmp_path / "table.md").read_text()


@pytest.mark.parametrize(("ms", "met"), [(20.0, True), (20.1, False)])
def test_the_trackers_target(ms, met):
    one, ours = {"twonorm": 1.0}, {"twonorm": 200.0}
    row = method.row("tracker", {"twonorm": ms}, one, ours, one)
    assert row.met is met
    slow = method.row("tracker", {"spam": 99.0}, {"spam": 1.0}, {"spam": 400.0}, {"spam": 1.0})
    assert slow.met is False  # within 100 ms, but more than a fifth of ours


@pytest.mark.parametrize(
    ("spam", "mean", "worst", "met"), [(31, 21, 31, False), (27, 19, 27, True)]
)
def test_the_mean_over_the_streams_is_judged_and_the_worst_is_told(spam, mean, worst, met):
    """Twonorm 11 of 100 ms, Spam more than a fifth of 100 ms."""
    ms, one = {"spam": float(spam), "twonorm": 11.0}, {"spam": 1.0, "twonorm": 1.0}
    row = method.row("tracker", ms, one, {"spam": 100.0, "twonorm": 100.0}, one)
    assert f"mean 0.{mean} of ours, worst 0.{worst} (spam)" in row.found
    assert row.met is met
    assert "mean" in row.target and "every stream" in row.target


def test_context_is_measured_by_size_and_drawn(tmp_path):
    (row, mean) = context.measure(True, tmp_path)
    frame = pd.read_csv(tmp_path / "context.csv")
    sizes = {mixed: list(part["rows"]) for mixed, part in frame.groupby("mixed")}
    assert sizes == {False: [1, 10, 30], True: [10, 30]}  # a test part has 40 rows
    assert frame.accuracy.between(0.5, 1).all()
    assert row.what == "twonorm" and mean.what == "mean of the streams"
    assert "<svg" in (tmp_path / "context.svg").read_text()


def test_a_mixed_batch_has_half_of_its_rows_from_across_the_stream():
    X = torch.arange(4.0).view(1, 4, 1, 1).expand(1, 4, 60, 1)  # a row holds its segment
    y = torch.arange(60).expand(1, 4, 60)
    found = [(x.flatten().tolist(), t[0].tolist()) for x, t in context.batches(X, y, 1, 4, True)]
    assert len(found) == 15 and found[0] == ([1, 1, 3, 3], [0, 1, 2, 3])
    alone = list(context.batches(X, y, 1, 4, False))
    assert len(alone) == 15 and set(alone[0][0].flatten().tolist()) == {1}
    assert not list(context.batches(X, y, 1, 100, False))  # the test part is too small
    assert not list(context.batches(X, y, 1, 1, True))  # one row cannot be mixed
