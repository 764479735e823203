"""sdsl.results: a row per run: what varies, numbers, data; R and curves on demand."""

import cli
import numpy as np
import pandas as pd
import pytest

import sdsl
from sdsl.errors import UserError

SHORT = ("dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=5", "seed=0,1")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("store"))
        assert cli.call("method=st", *SHORT, "-m") == 0
        assert cli.call("method=gst", "labeler.drop=0.1,0.2", *SHORT, "-m") == 0
        yield sdsl.results()


def test_a_row_has_what_varies_the_numbers_the_data_and_ids(runs):
    assert len(runs) == 6
    assert runs.index.name == "run_id"
    steps = "learner.pretrain.steps=5"
    names = {f"st ({steps})", f"gst ({steps})", f"gst (labeler.drop=0.2, {steps})"}
    assert names == {name.replace("labeler.drop=0.1, ", "") for name in runs.variant}
    assert set(runs.seed) == {0, 1}
    assert set(runs["labeler.name"]) == {"none", "gst"}  # it varies
    assert "stream.max_segments" not in runs  # it does not
    assert set(runs.params["stream.max_segments"]) == {"2"}
    assert runs.acc_online.between(0, 1).all()
    assert "online" not in runs  # the last point of a curve
    assert set(runs.data_standing) == {"original"}
    assert runs.data_sha256.str.len().eq(64).all()
    assert set(runs.data_rows) == {7400}
    assert runs.columns.is_unique


def test_R_and_curves_are_those_of_the_run(runs):
    curves = runs.curves()
    assert curves.index.names == ["run_id", "step"]
    for run_id, run in runs.iterrows():
        R = runs.R(run_id)
        assert R.shape == (2, 2)
        assert np.isclose(np.diag(R).mean(), run.acc_online)
        np.testing.assert_allclose(curves.loc[run_id].online, np.diag(R), atol=1e-8)
    some = runs[runs.seed == 0]
    assert set(some.curves().index.get_level_values(0)) == set(some.index)
    assert isinstance(some, type(runs))


def test_filters_choose_by_column_or_setting(runs, monkeypatch):
    uri = runs.client.uri
    assert set(sdsl.results(uri, method="gst", seed=0).seed) == {0}
    assert len(sdsl.results(uri, method=["st", "gst"])) == 6
    assert len(sdsl.results(uri, **{"labeler.drop": 0.2})) == 2
    assert len(sdsl.results(uri, **{"stream.max_segments": 2})) == 6
    with pytest.raises(UserError, match=r"no column or setting 'metod'.*Did you mean 'method'\?"):
        sdsl.results(uri, metod="gst")
    with pytest.raises(UserError, match=r"No run has method=ours\. There is: gst, st\."):
        sdsl.results(uri, method="ours")


def test_it_groups_like_any_frame(runs):
    means = runs.groupby("variant").acc_online.mean()
    assert isinstance(means, pd.Series)
    assert len(means) == 3


def test_a_lost_file_is_one_sentence(runs):
    with pytest.raises(UserError, match=r"its file gone\.npy cannot be read"):
        runs.file(runs.index[0], "gone.npy")


def test_no_runs_is_one_sentence(here):
    with pytest.raises(UserError, match="no store"):
        sdsl.results("sqlite:///none.db")
    assert not list(here.glob("none.db"))
