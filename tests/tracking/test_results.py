"""All finished runs as one table, and the run of a deployment."""

import pytest
from made import group, ledger, record, runs, trial
from mlflow.entities import Param

from sdsl.errors import UserError
from sdsl.tracking.deployment import log_deployment
from sdsl.tracking.results import load, load_curves, load_R, results


def test_one_row_per_finished_run(here):
    books = ledger()
    record(books, 1, 0)
    (other,) = record(books, 0, of=group("1", stream="other", variant="st"))
    (newest,) = record(books, 0, force=True)
    with pytest.raises(ValueError), books.recording(group(), 5):
        raise ValueError
    table = results()
    named = [["other", "st", 0], ["spam", "ours (a=1)", 0], ["spam", "ours (a=1)", 1]]
    assert table[["stream", "variant", "seed"]].to_numpy().tolist() == named
    assert table.index[:2].tolist() == [other.run_id, newest.run_id]
    assert table.acc_final.tolist()[1] == newest.metrics["acc_final"]
    assert table.rows.tolist() == [500] * 3 and not any("/" in name for name in table)
    assert "note" not in table, "the runs do not differ in it"
    for run in (newest.run_id, table.iloc[1], next(table[1:].itertuples())):
        assert load_R(run).tobytes() == trial().outcome.R[1:].tobytes()
        curves = load_curves(run)
        assert curves.index.tolist() == [1, 2, 3, 4, 5, 6] and curves.index.name == "step"
    chosen = results(filter="tags.stream = 'spam'", settings=["note", "learner.number", "no"])
    assert chosen.note.tolist() == ["hi"] * 2 and chosen["learner.number"].tolist() == ["1"] * 2
    assert chosen["no"].isna().all()
    books.client.log_batch(other.run_id, params=[Param("own", "7")])
    assert results().own.fillna("").tolist() == ["7", "", ""]


def test_a_table_that_cannot_be_made_says_why(here):
    books = ledger()
    with pytest.raises(UserError, match="has no finished runs"):
        results()
    (made,) = record(books, 0)
    refused = {"tags.method = 'no'": "no finished runs that match", "x y": "filter='x y'"}
    for filter, said in refused.items():
        with pytest.raises(UserError, match=said):
            results(filter=filter)
    for run, name in ((made.run_id, "no.txt"), ("0" * 32, "R.npy")):
        with pytest.raises(UserError, match=run):
            load(run, name)


def test_a_deployment_is_one_run_that_has_every_segment_once(here):
    def log(*segments: dict[str, float]) -> str:
        return log_deployment(None, "sdsl", "7", "ours · out", {}, {}, segments)[0]

    first, second = {"rows": 9.0, "share (a)": 0.5}, {"rows": 8.0, "accuracy": float("nan")}
    run_id = log(first)
    assert log(first | {"rows": 0.0}, second) == run_id
    books = ledger()
    assert set(runs(books, "deployment")[0].data.metrics) == {"rows", "share _a_"}
    history = books.client.get_metric_history(run_id, "rows")
    assert [(point.step, point.value) for point in history] == [(1, 9.0), (2, 8.0)]
