"""An exported folder gives back every number, and refuses what it cannot hold."""

import numpy as np
import pandas as pd
import pytest
from report_made_up import results

from sdsl.errors import UserError
from sdsl.report.runs import export


def test_an_exported_folder_gives_back_every_number(tmp_path):
    given = results(methods=("st", "ours"), datasets=("spam", "twonorm"), seeds=2)
    run = given.frame.index[-1]
    given.R[run][0, 1:] = np.nan  # not evaluated
    export.write(given, tmp_path / "a")
    found = export.read(tmp_path / "a")
    pd.testing.assert_frame_equal(found.frame, given.frame)
    for name, R in given.R.items():
        np.testing.assert_array_equal(found.R[name], R)
    for name, points in given.curves["flatness_one_sided"].items():
        np.testing.assert_array_equal(found.curves["flatness_one_sided"][name], points)
    for name, points in given.curves["pseudo_label_acc"].items():
        np.testing.assert_allclose(found.curves["pseudo_label_acc"][name], points, atol=1e-3)
    assert found.notes == given.notes
    export.write(found, tmp_path / "b")
    for name in ("runs.csv", "R.npz"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_R_context_is_a_file_of_its_own_where_there_is_one(tmp_path):
    given = results(methods=("st", "tracker"), datasets=("spam", "twonorm"), context=("tracker",))
    export.write(given, tmp_path)
    found = export.read(tmp_path)
    assert found.R_context.keys() == given.R_context.keys() and len(found.R_context) == 10
    for name, R_context in given.R_context.items():
        np.testing.assert_array_equal(found.R_context[name], R_context)
    np.testing.assert_array_equal(
        found.in_context("tracker", "spam"), given.in_context("tracker", "spam")
    )
    assert found.in_context("st", "spam") is None
    export.write(results(methods=("st",), datasets=("spam",)), tmp_path)
    assert not (tmp_path / "R_context.npz").exists() and export.read(tmp_path).R_context == {}


def test_an_R_that_is_no_share_of_the_test_rows_is_refused(tmp_path):
    given = results(methods=("ours",), datasets=("spam",), seeds=1)
    given.R[given.frame.index[0]][0, 0] = 0.123
    with pytest.raises(UserError, match="not shares of 40 test rows"):
        export.write(given, tmp_path)


def test_an_empty_folder_says_what_it_should_hold(tmp_path):
    with pytest.raises(UserError, match=r"runs\.csv, R\.npz"):
        export.read(tmp_path)
