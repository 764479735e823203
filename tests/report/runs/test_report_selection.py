"""Which runs are shown: the newest of a cell; other data under the same name is another stream."""

import pandas as pd
from report_made_up import results

from sdsl.report.runs.selection import name_streams, never_as_shipped, newest


def test_the_newest_runs_are_shown_and_the_report_says_so():
    frame = results(methods=("ours",), datasets=("spam",), seeds=3).frame.reset_index()
    old = frame.assign(run_id=["x", "y", "z"], group_key="0" * 64, started=5)
    again = frame[:1].assign(run_id="again", started=frame.started.max() + 9)
    chosen = newest(pd.concat([frame, old, again]))
    assert sorted(chosen.frame.run_id) == sorted(["again", *frame.run_id[1:]])
    (note,) = chosen.notes
    assert note.startswith("ours on spam (literal): the 3 newest of 7 runs are shown")
    assert note.endswith("(code bbbbbbbb, config ffffffff); 4 older ones are left out")


def test_a_note_on_probed_runs_names_the_probe():
    frame = results(methods=("ours",), datasets=("spam",), seeds=1, probe="flatness").frame
    frame = frame.reset_index()
    old = frame.assign(run_id="x", group_key="0" * 64, started=5)
    (note,) = newest(pd.concat([frame, old])).notes
    assert note.startswith("ours on spam (literal, flatness probe): the 1 newest of 2 runs")


def test_other_rows_under_the_same_name_are_another_stream():
    frame = results(methods=("st", "jt"), datasets=("spam",), seeds=2).frame.reset_index()
    frame.loc[0, ["stream_sha256", "data_standing"]] = ["9" * 64, "stand-in"]
    found = name_streams(frame)
    assert list(found.stream) == ["spam (stand-in data 99999999)", "spam", "spam", "spam"]


def test_a_short_stream_says_its_length():
    frame = results(methods=("st",), datasets=("spam",), seeds=2).frame.reset_index()
    frame.loc[1, "short"] = "3"
    assert list(name_streams(frame).stream) == ["spam", "spam (T=3)"]


def test_a_method_that_never_ran_as_shipped_is_named():
    frame = results(methods=("st", "ours"), datasets=("spam",), seeds=1).frame
    assert never_as_shipped(frame) == ()
    frame.loc[frame.method == "ours", "variant"] = "ours (lookback.size=7)"
    (note,) = never_as_shipped(frame)
    assert "No run of ours has the settings that conf/ gives it now" in note
    assert note.endswith("there are runs of ours (lookback.size=7)")
