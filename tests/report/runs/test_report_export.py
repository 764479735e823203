"""Runs in and out: the exported folder is exact, names tell variants apart, the newest stands."""

import numpy as np
import pandas as pd
import pytest
from cli import TINY, call
from made_up import results

from sdsl.config import naming as variants
from sdsl.errors import UserError
from sdsl.report.runs import export as archive
from sdsl.report.runs import gather
from sdsl.report.runs.results import newest


def test_an_exported_folder_gives_back_every_number(tmp_path):
    given = results(methods=("st", "ours"), datasets=("spam", "twonorm"), seeds=2)
    run = given.frame.index[-1]
    given.R[run][0, 1:] = np.nan  # not evaluated
    archive.export(given, tmp_path / "a")
    found = archive.load(tmp_path / "a")
    pd.testing.assert_frame_equal(found.frame, given.frame)
    for name, R in given.R.items():
        np.testing.assert_array_equal(found.R[name], R)
    for name, points in given.curves["flatness_one_sided"].items():
        np.testing.assert_array_equal(found.curves["flatness_one_sided"][name], points)
    for name, points in given.curves["pseudo_label_acc"].items():
        np.testing.assert_allclose(found.curves["pseudo_label_acc"][name], points, atol=1e-3)
    assert found.notes == given.notes
    archive.export(found, tmp_path / "b")
    for name in ("runs.csv", "R.npz"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_an_R_that_is_no_share_of_the_test_rows_is_refused(tmp_path):
    given = results(methods=("ours",), datasets=("spam",), seeds=1)
    given.R[given.frame.index[0]][0, 0] = 0.123
    with pytest.raises(UserError, match="not a share of 40 test rows"):
        archive.export(given, tmp_path)


def test_an_empty_folder_says_what_it_should_hold(tmp_path):
    with pytest.raises(UserError, match=r"runs\.csv, R\.npz"):
        archive.load(tmp_path)


def test_the_newest_code_stands_and_the_report_says_so():
    frame = results(methods=("ours",), datasets=("spam",), seeds=3).frame.reset_index()
    old = frame.assign(run_id=["x", "y", "z"], group_key="0" * 64, started=5)
    again = frame[:1].assign(run_id="again", started=frame.started.max() + 9)
    stands, notes = newest(pd.concat([frame, old, again]))
    assert sorted(stands.run_id) == sorted(["again", *frame.run_id[1:]])
    assert len(notes) == 1
    assert "3 newest of 7 runs are shown" in notes[0]
    assert "4 older ones gave way" in notes[0]


def test_other_rows_under_the_same_name_are_another_stream():
    frame = results(methods=("st", "jt"), datasets=("spam",), seeds=2).frame.reset_index()
    frame.loc[0, ["stream_sha256", "data_standing"]] = ["9" * 64, "stand-in"]
    found = gather._apart(frame)
    assert list(found.stream) == ["spam (stand-in data 99999999)", "spam", "spam", "spam"]


def own(*words: str) -> dict[str, str]:
    choice, *more = words
    return dict(variants.defaults(choice, *more))


@pytest.mark.parametrize(
    ("method", "params", "label"),
    [
        ("ours", own("ours"), "ours"),
        ("ours", own("ours", "labeler=oracle"), "ours (labeler=oracle)"),
        ("ours", own("ours") | {"lookback.size": "7"}, "ours (lookback.size=7)"),
        (
            "ours",
            own("ours", "labeler=oracle") | {"lookback.size": "7"},
            "ours (labeler=oracle, lookback.size=7)",
        ),
        ("jt", own("jt", "labeler=none", "replay=none"), "st"),  # equal to another's own
        ("mine", {"lookback.size": "7"}, "mine"),  # conf/ has no such method
        ("<script>", {}, "<script>"),
    ],
)
def test_what_a_run_is_called(method, params, label):
    assert variants.method_label(method, params) == label


@pytest.mark.parametrize("labeler", ["confidence", "influence"])
def test_ours_with_another_labeler_is_the_papers_variant(labeler):
    label = variants.method_label("ours", own("ours", f"labeler={labeler}"))
    assert label in {"ours_pl", "ours_record", f"ours (labeler={labeler})"}


def test_how_many_rows_of_R_were_measured_makes_no_variant():
    assert variants.method_label("ours", own("ours") | {"eval.every": "5"}) == "ours"


def test_another_order_is_another_stream():
    params = dict(variants.defaults("dataset=spam", sections=variants.STREAM))
    assert variants.stream_label("spam", params) == "spam"
    assert variants.stream_label("spam", params | {"stream.prefix": "calibrated"}) == "spam"
    changed = params | {"dataset.order": "chronological", "stream.gold": "record"}
    assert (
        variants.stream_label("spam", changed) == "spam (order=chronological, stream.gold=record)"
    )


def test_a_real_store(here):
    assert call(*TINY, "seed=0,1") == 0
    with pytest.raises(UserError, match="--include-short"):
        gather.gather(None)
    found = gather.gather(None, short=True)
    assert list(found.frame.seed) == [0, 1]
    (row, _) = found.frame.itertuples()
    assert row.variant == "st (learner.pretrain.steps=5)"
    assert row.stream == "twonorm (T=2)"
    assert any("No run of st has the settings of conf/ as it is now" in n for n in found.notes)
    R = found.R[row.Index]
    assert R.shape == (2, 2)
    assert row.acc_final == R[-1].mean()
    assert row.data_standing == "original"
    assert len(row.data_sha256) == len(row.config_sha256) == 64
    assert "online" not in found.frame  # a step curve is no number of the run
    archive.export(found, here / "small")
    pd.testing.assert_frame_equal(archive.load(here / "small").frame, found.frame)


def test_no_store_is_said_and_none_is_made(tmp_path):
    with pytest.raises(UserError, match="There is no store"):
        gather.gather(f"sqlite:///{tmp_path}/mlflow.db")
    assert not list(tmp_path.iterdir())
