"""The static trade-off: worked out by hand, on a stream that turns round, and from the command."""

import numpy as np
import pandas as pd
import pytest

from sdsl.core.stream import Cut, Stream, StreamConfig
from sdsl.core.table import Table
from sdsl.report.runs import export
from sdsl.report.tradeoff import curve, densities
from sdsl.report.tradeoff.__main__ import main


def test_the_weight_decides_between_present_and_past():
    # Two segments, two classes, one test row each. Row 1 is of class 0, row 2 of class 1.
    p = np.array(
        [
            [[[0.8], [0.2]], [[0.1], [0.3]]],  # segment 1: p(x, c) of rows 1 and 2, by class
            [[[0.1], [0.6]], [[0.7], [0.9]]],  # segment 2
        ]
    )  # [segments, C, T, q]
    truth = np.array([[0], [1]])
    found = {w: (online, final) for w, online, final in curve.scores(np.log(p), truth, (0, 1))}
    # λ = 1: step 1 sees .8 > .1, step 2 sees .9 > .6: both right. The last model on row 1: .1 < .7.
    assert found[1] == (1.0, 0.5)
    # λ = 0: means over both segments: row 1 (.45, .40) is right, row 2 (.40, .60) is right.
    assert found[0] == (1.0, 1.0)


def test_the_past_at_a_step_holds_no_later_segment():
    p = np.array([[[[0.4]], [[0.6]]], [[[0.9]], [[0.1]]]]).repeat(2, axis=2)
    truth = np.array([[1], [1]])
    ((_, online, final),) = curve.scores(np.log(p), truth, (0.0,))
    # Step 1 knows segment 1 only (.4 < .6, right); step 2 and the last model know both (.65 > .35).
    assert (online, final) == (0.5, 0.0)


def test_the_front_leaves_out_what_is_beaten():
    points = pd.DataFrame({"acc_online": [0.9, 0.8, 0.7, 0.9], "acc_final": [0.5, 0.6, 0.55, 0.4]})
    assert curve.on_front(points).tolist() == [True, True, False, False]


def test_a_gaussian_is_the_textbook_one():
    density = densities.gaussian(np.array([1.0, 0.0]), np.diag([4.0, 1.0]))
    # log N = -log(2π) - log(2) - (2²/4 + 3²/1) / 2
    expected = -np.log(2 * np.pi) - np.log(2) - 5
    assert density(np.array([[3.0, 3.0]]))[0] == pytest.approx(expected)


def test_classes_that_change_places_cannot_be_followed_and_remembered():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 300)
    side = np.where(np.repeat(np.arange(6), 100) < 3, 1, -1)  # the second half is turned round
    X = rng.normal(size=(600, 2)).astype(np.float32) * 0.3 + (side * (2 * y - 1))[:, None]
    table = Table("turn", X.astype(np.float32), y, ("0", "1"), "made up", "own", "0" * 64)
    config = StreamConfig(gold="segment", scaler="frozen", max_segments=None, prefix="literal")
    cut = Cut(segment_size=100, test_size=40, gold_per_class=None, calibrated_segments=None)
    points = curve.measure(Stream(table, cut, config, [0, 1]))
    follows = points[points.weight == 1]
    assert (follows.acc_online > 0.99).all()
    assert follows.acc_final.between(0.55, 0.65).all()  # 3 of the 5 segments are as the last one
    assert (points.acc_final < 0.7).all()
    assert (points.seeds == 2).all()


def test_the_command_completes_its_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(densities, "families", lambda *_: {"shared": densities.shared})
    file = tmp_path / "tradeoff.csv"
    for _ in range(2):  # the second time replaces the first
        assert main(["twonorm", "--seeds", "1", "--out", str(file)]) == 0
    assert main(["twonorm", "--seeds", "1", "--prefix", "calibrated", "--out", str(file)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("twonorm (literal, original): Acc_t 0.9")
    table = export.read_measured(file)
    assert len(table) == 2 * len(curve.WEIGHTS)
    assert set(table.prefix) == {"literal", "calibrated"}
    assert table.front.dtype == bool
    assert table.acc_final.between(0.8, 1).all()
    assert main(["no_such_stream", "--out", str(file)]) == 2
    assert "conf/dataset has no 'no_such_stream'" in capsys.readouterr().err
