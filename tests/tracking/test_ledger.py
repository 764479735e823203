"""The ledger: the contents of a run, when it counts, and several processes at once."""

import os
import signal
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from made import CONFIG, FORK, group, ledger, record, runs, together, trial
from PIL import Image

from sdsl.tracking import provenance, results
from sdsl.tracking import record as module
from sdsl.tracking.identity import run_key
from sdsl.tracking.ledger import Ledger

RESULTS = """acc_online acc_final forgetting bwt fwt prequential swap_steps lasting_swap majority
balanced_acc_online balanced_acc_final macro_f1_online macro_f1_final class_imbalance
pseudo_label_acc_mean seconds_train seconds_eval"""


@pytest.fixture
def books(here) -> Ledger:
    return ledger()


def points(books: Ledger, run_id: str, name: str) -> dict[int, float]:
    return {p.step: p.value for p in books.client.get_metric_history(run_id, name)}


def status(books: Ledger) -> dict[str, str]:
    return {run.data.tags["seed"]: run.info.status for run in runs(books)}


def test_the_contents_of_a_run(books):
    (made,) = record(books, 3, tags={"sweep": "s", "job": "0"})
    R = trial(3).outcome.R[1:]
    run = books.client.get_run(made.run_id)
    assert run.info.status == "FINISHED" and run.info.run_name == "ours (a=1) · spam · seed 3"
    tags = {"method": "ours", "dataset": "spam", "seed": "3", "kind": "run", "sweep": "s"}
    tags |= {"run_key": run_key("0" * 64, 3), "standing": "own", "owner": "me", "rows": "500"}
    assert tags.items() <= run.data.tags.items(), "a user's own tag replaces none of these"
    assert {"git_sha", "dirty", "cpu", "torch", "data_sha256", "variant"} <= run.data.tags.keys()
    params = run.data.params
    assert params["note"] == "hi" and params["seed"] == "3"
    assert params["labeler.trust.overlap"] == "6" and "tracking.uri" not in params

    numbers = results.numbers(run)
    assert set(numbers) == set(RESULTS.split()) and numbers == made.metrics
    assert numbers["acc_online"] == np.diagonal(R).mean() and numbers["acc_final"] == R[-1].mean()
    assert numbers["seconds_train"] == 3 and numbers["seconds_eval"] == 0.5
    assert points(books, made.run_id, "acc_final") == {0: R[-1].mean()}
    assert points(books, made.run_id, "curve/final") == dict(enumerate(R[-1], 1))
    assert points(books, made.run_id, "curve/pseudo_label_acc").keys() == {1, 3, 4}
    assert points(books, made.run_id, "curve/flatness").keys() == {1, 2, 3, 4, 5, 6}
    assert points(books, made.run_id, "step/loss_fit").keys() == {1, 2, 3, 4}
    (given,) = run.inputs.dataset_inputs
    assert (given.dataset.name, given.dataset.digest) == ("spam", "d" * 12)


def test_the_files_of_a_run(books, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "diff", lambda: " M sdsl/core/engine.py\n+changed\n")
    (made,) = record(books, 0)
    folder = tmp_path / "outputs" / "mlruns" / made.run_id / "artifacts"
    R = trial(0).outcome.R
    assert np.load(folder / "R.npy").tobytes() == R[1:].tobytes()
    np.testing.assert_allclose(np.loadtxt(folder / "R.csv", delimiter=","), R[1:])
    assert Image.open(folder / "R.png").size > (400, 400)
    assert np.load(folder / "confusion.npy").shape == (2, 4, 2, 2)
    curves = pd.read_csv(folder / "curves.csv", index_col="step")
    assert curves.gold_only[:4].tolist() == R[0].tolist() and len(curves) == 6
    assert {"prequential", "test_acc", "loss_fit", "flatness"} <= set(curves)
    assert "torch==" in (folder / "environment.txt").read_text()
    assert "+changed" in (folder / "diff.patch").read_text()
    assert "a note" in (folder / "columns.txt").read_text()
    assert "s3cr3t" not in (folder / "config.yaml").read_text()
    loaded = results.load_config(made.run_id)
    assert loaded["seed"] == {"values": [0]} and loaded["labeler"] == CONFIG["labeler"]


def test_few_points_of_a_long_curve_and_no_call_beyond_the_limits():
    """A server takes 1,000 values a call, and 100 params among them."""
    steps = [point.step for point in module.curve("x", pd.Series(range(5000), range(1, 5001)), 5)]
    assert (steps[0], steps[-1], len(steps)) == (1, 5000, 5)
    calls = []
    client = Mock(log_batch=lambda _, *given: calls.append([len(part) for part in given]))
    module.log(client, "id", [0] * 2940, [0] * 160)
    assert np.sum(calls, 0).tolist() == [2940, 160]
    assert all(metrics + params <= 1000 and params <= 100 for metrics, params in calls)


def test_a_parent_is_updated_and_stays(books):
    record(books, 0, 1)
    (parent,) = runs(books, "group")
    first, name = parent.info.run_id, parent.info.run_name
    assert name == "ours (a=1) · spam" and parent.data.metrics["n_seeds"] == 2
    record(books, 2)
    assert books.update_parent(group()) == first
    (parent,) = runs(books, "group")
    seeds = runs(books)
    assert parent.info.run_id == first and parent.info.status == "FINISHED"
    assert {run.data.tags["mlflow.parentRunId"] for run in seeds} == {first}
    values = [run.data.metrics["acc_final"] for run in seeds]
    metrics = parent.data.metrics
    assert metrics["n_seeds"] == 3 and metrics["acc_final"] == pytest.approx(np.mean(values))
    assert metrics["acc_final_std"] == pytest.approx(np.std(values, ddof=1))
    final = np.mean([trial(seed).outcome.R[-1] for seed in range(3)], 0)
    drawn = points(books, first, "mean of 3/final")
    assert list(drawn.values()) == pytest.approx(final.tolist())
    assert results.load_curves(first).final[:4].tolist() == pytest.approx(final.tolist())
    assert parent.data.params["note"] == "hi" and "seed" not in parent.data.params


def test_what_counts_is_not_made_again(books, tmp_path):
    first, second = record(books, 0, 1)
    record(books, 0, of=group("1"))
    assert books.finished(group()) == {0: first, 1: second}
    with books.recording(group(), 0) as run_id:
        assert run_id is None
    (again,) = record(books, 0, force=True)
    assert books.finished(group())[0] == again, "the newest counts"
    folder = tmp_path / "outputs" / "mlruns" / second.run_id / "artifacts"
    (folder / "R.npy").unlink()
    assert set(books.finished(group())) == {0}
    (again,) = record(books, 1)
    books.client.set_terminated(again.run_id, "FAILED")
    assert set(books.finished(group())) == {0}
    assert len(results.results(filter=f"tags.group_key = '{'0' * 64}'")) == 2  # seed 1 lost its R


def test_exceptions_and_signals_are_recorded(books):
    for seed, error in enumerate((MemoryError("http://a:s3cr3t@b"), KeyboardInterrupt(15))):
        with pytest.raises(type(error)), books.recording(group(), seed):
            raise error
    assert status(books) == {"0": "FAILED", "1": "KILLED"}
    told = results.load(runs(books)[0].info.run_id, "traceback.txt").decode()
    assert "MemoryError" in told and "s3cr3t" not in told
    record(books, 0, 1)


def many(uri: str, worker: int) -> None:
    record(ledger(uri), *range(3 * worker, 3 * worker + 3))


def test_processes_that_write_at_once_lose_nothing(here):
    assert together(many, *((i,) for i in range(6))) == [0] * 6
    books = ledger()
    assert len(runs(books)) == 18 and set(status(books).values()) == {"FINISHED"}
    (parent,) = runs(books, "group")
    assert books.update_parent(group()) == parent.info.run_id
    assert runs(books, "group")[0].data.metrics["n_seeds"] == 18


def one(uri: str, made) -> None:
    books = ledger(uri)
    with books.recording(group(), 0) as run_id:
        if run_id is not None:
            made.put(run_id)
            books.log(run_id, group(), 0, trial())
    assert set(books.finished(group())) == {0}


def test_of_processes_that_want_the_same_run_one_makes_it(here):
    made = FORK.SimpleQueue()
    assert together(one, *((made,) for _ in range(4))) == [0] * 4
    assert [run.info.run_id for run in runs(ledger())] == [made.get()] and made.empty()


def begin_and_wait(uri: str, begun, end) -> None:
    with ledger(uri).recording(group(), 0, {"sweep": "s"}):
        begun.set()
        end.wait()


@pytest.fixture
def begun(here):
    """A process in the middle of a run."""
    ready, end = FORK.Event(), FORK.Event()
    given = f"sqlite:///{here}/./mlflow.db", ready, end
    process = FORK.Process(target=begin_and_wait, args=given)
    process.start()
    ready.wait()
    yield process
    process.kill()
    process.join()


def kill(process) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def test_a_run_whose_process_was_killed(begun):
    books = ledger()
    assert books.stale() == [] and status(books) == {"0": "RUNNING"}
    kill(begun)
    assert books.stale() == ["ours (a=1) · spam · seed 0"]
    assert status(books) == {"0": "KILLED"} and books.stale() == []
    record(books, 0)


def test_who_waits_takes_over_from_a_killed_process(begun):
    books, waited = ledger(), []

    def waiting() -> None:
        waited.append(True)
        kill(begun)

    record(books, 0, waiting=waiting)
    assert [run.info.status for run in runs(books)] == ["KILLED", "FINISHED"] and waited


def test_runs_of_another_machine_are_left_alone_until_their_sweep_ends(begun, monkeypatch):
    kill(begun)
    monkeypatch.setattr(provenance, "tags", lambda: {"host": "other", "mlflow.user": "me"})
    books = ledger()
    assert books.stale() == [] and status(books) == {"0": "RUNNING"}
    assert books.end_sweep("t") == [] and len(books.end_sweep("s")) == 1
    assert status(books) == {"0": "KILLED"}


def test_two_parents_made_by_two_machines_become_one(books):
    record(books, 0)
    other = books._create("ours (a=1) · spam", group(), {"kind": "group"})
    books.client.set_tag(runs(books)[0].info.run_id, "mlflow.parentRunId", other)
    record(books, 1)
    first = runs(books, "group")[0].info.run_id
    assert {run.data.tags["mlflow.parentRunId"] for run in runs(books)} == {first}
