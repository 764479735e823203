"""Reading a store: what a run's tags, params and files become."""

import tempfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cli import TINY, call, runs, stored
from mlflow.entities import Metric

from sdsl.errors import UserError
from sdsl.report.__main__ import main
from sdsl.report.claims import verdicts
from sdsl.report.runs import export, gather
from sdsl.report.runs.results import Results
from sdsl.tracking import tidy


def logged(**tags: str) -> pd.DataFrame:
    """A run as MLflow returns it, as far as the report reads it: its row of runs.csv."""
    tags = {"method": "mine", "dataset": "satimage", "seed": "3", **tags}
    # The YAML expects another shape; the report must not read it.
    params = {"dataset.expect.rows": "1", "dataset.test_size": "40", "stream.prefix": "literal"}
    metrics = [Metric("acc_final", 0.5, 0, 0), Metric("online", 0.1, 0, 7)]
    info = SimpleNamespace(run_id="0" * 32, start_time=1)
    data = SimpleNamespace(tags=tags, params=params, _metric_objs=metrics)
    ids = pd.Index(["0" * 32], name="run_id")
    runs = tidy.Runs([tidy.row(SimpleNamespace(info=info, data=data))], ids)
    runs.all_params = pd.DataFrame([params], ids)
    return gather.as_rows(runs)


def shape_verdict(rows: pd.DataFrame) -> verdicts.Verdict:
    judged = verdicts.judge(Results(rows.set_index("run_id")))
    (found,) = [v for v in judged if v.test == "shape" and v.dataset == "satimage"]
    return found


def test_the_shape_of_the_data_is_that_of_the_data_that_ran():
    run = logged(data_rows="6435", data_features="36", data_classes="7")
    (row,) = run.to_dict("records")
    assert (row["rows"], row["features"], row["classes"]) == (6435, 36, 7)
    found = shape_verdict(run)
    assert found.verdict == "reproduced"
    assert found.numbers == "here 6,435 x 36, 7 classes; paper 6,435 x 36, 7 classes"
    other = shape_verdict(logged(data_rows="6435", data_features="36", data_classes="6"))
    assert other.verdict == "not reproduced"


def test_an_older_run_without_the_shape_of_its_data_decides_nothing():
    (row,) = logged().to_dict("records")
    assert all(np.isnan(row[name]) for name in ("rows", "features", "classes"))
    found = shape_verdict(logged())
    assert (found.verdict, found.numbers) == ("not run", "the shape of the data was not logged")


def test_a_step_curve_is_no_number_of_the_run():
    (row,) = logged().to_dict("records")
    assert row["acc_final"] == 0.5
    assert "online" not in row


def test_a_real_store(here, monkeypatch, tmp_path_factory):
    assert call(*TINY, "seed=0,1") == 0
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with pytest.raises(UserError, match="--include-short"):
        gather.gather(None)
    found = gather.gather(None, short=True)
    assert not list(temporary.iterdir())  # no folder is left behind
    assert list(found.frame.seed) == [0, 1]
    (row, _) = found.frame.itertuples()
    assert row.variant == "st (learner.pretrain.steps=5)"
    assert row.stream == "twonorm (T=2)"
    said = "No run of st has the settings that conf/ gives it now"
    assert any(said in note for note in found.notes)
    R = found.R[row.Index]
    assert R.shape == (2, 2)
    assert row.acc_final == R[-1].mean()
    assert row.data_standing == "original"
    assert (row.rows, row.features, row.classes) == (7400, 20, 2)
    assert len(row.data_sha256) == len(row.config_sha256) == 64
    assert "online" not in found.frame
    assert "\ntorch==" in found.environment
    export.write(found, here / "small")
    assert export.read(here / "small").environment == found.environment
    pd.testing.assert_frame_equal(export.read(here / "small").frame, found.frame)


def test_R_context_is_read_where_a_run_has_one(here):
    words = ("method=tracker", *TINY[1:], "eval.context=true")
    assert call(*words, "seed=0,1") == 0 and call(*TINY) == 0
    found = gather.gather(None, short=True)
    tested = found.frame[found.frame.method == "tracker"]
    assert set(found.R_context) == set(tested.index) and len(tested) == 2
    for run, mean in tested.acc_final_context.items():
        assert found.R_context[run][-1].mean() == mean
    (lost,) = [run for run in runs() if run.info.run_id == tested.index[0]]
    stored(lost, "R_context.npy").unlink()  # as a run of an older version
    without = gather.gather(None, short=True)
    assert len(without.frame) == 3 and len(without.R_context) == 1


def test_no_store_is_said_and_none_is_made(tmp_path):
    with pytest.raises(UserError, match="There is no store"):
        gather.gather(f"sqlite:///{tmp_path}/mlflow.db")
    assert not list(tmp_path.iterdir())


def test_the_command_ends_with_the_address_of_the_runs(here, capsys):
    call(*TINY)
    capsys.readouterr()
    assert main(["--include-short", "--no-figures", "--out", "report"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Look at them: mlflow ui, then open http://127.0.0.1")
    assert last.endswith("searchFilter=tags.kind%20%3D%20%22group%22")
