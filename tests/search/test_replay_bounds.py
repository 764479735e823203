"""True labels under the paper's replay against 1-NN on the last segment."""

import pandas as pd
import pytest

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.search import bounds


@pytest.fixture
def short(monkeypatch):
    """One development stream, cut to two segments."""
    where = bounds.KINDS["development"]["travel"] + " stream.max_segments=2"
    monkeypatch.setitem(bounds.KINDS, "development", {"travel": where})
    monkeypatch.setattr(bounds, "SEEDS", (10,))


def test_both_are_run_and_written(short, tmp_path, capsys):
    file = tmp_path / "bounds.csv"
    assert bounds.main(["--out", str(file), "learner.pretrain.steps=50"]) == 0
    (row,) = pd.read_csv(file).to_dict("records")
    assert row["stream"] == "travel" and 0.5 < row["oracle_labels"] <= 1
    assert row["below"] == pytest.approx(row["nearest"] - row["oracle_labels"], abs=2e-4)
    assert row["near"] == (row["below"] <= 0.02)
    assert "of 1 streams are within 0.02 of 1-NN" in capsys.readouterr().out


def test_the_bound_is_1_NN_on_the_true_last_segment(short):
    """Worked out by hand: of each test row the label of the nearest row of X_t."""
    where = bounds.KINDS["development"]["travel"].split()
    setup = experiment.setup(composed(*bounds.NEAREST.split(), *where))
    stream = experiment.cut(setup, experiment.load(setup), [10])
    X, y = stream.tests()
    scale = experiment.run(setup, [10]).outcome.scaler.scale[0].double()  # of gold and X_1
    right = []
    for t in (1, 2):
        seen, truth = stream.segment(t)[0].double(), stream.truth(t)[0]
        gaps = (X[0, t - 1].double() / scale)[:, None] - (seen / scale)[None]
        nearest = gaps.square().sum(2).argmin(1)
        right.append(float((truth[nearest] == y[0, t - 1]).double().mean()))
    found = bounds.acc_t([*bounds.NEAREST.split(), *where])
    assert found == pytest.approx(sum(right) / 2, abs=0.02)


def test_near_is_within_two_hundredths():
    assert bounds.Bound("development", "a", 0.941, 0.96).near
    assert not bounds.Bound("development", "a", 0.939, 0.96).near


def test_an_unknown_stream_is_named(capsys):
    with pytest.raises(SystemExit):
        bounds.main(["--only", "nowhere"])
    assert "unknown: nowhere" in capsys.readouterr().err


def test_who_lets_go_of_the_past():
    """With labels that may be wrong what is kept is held, unless a memory brings the past back."""
    for method, lets_go in (("oracle_labels", True), ("ours", False), ("ours_tracker", True)):
        replay = composed(f"method={method}")["replay"]
        assert any(replay["held"].values()) == lets_go
    assert replay["memory"] > 0
    assert composed(*bounds.NEAREST.split())["replay"]["name"] == "nearest"
