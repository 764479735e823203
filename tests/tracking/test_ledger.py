"""The ledger: what a run leaves, and when it counts."""

import csv
import hashlib
import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest
from cli import SERIAL, TINY, TINY_NAME, artifact, call, client, runs, status, stored
from mlflow.entities import Metric
from PIL import Image

from sdsl import experiment
from sdsl.bench.store import sizes
from sdsl.config.compose import composed
from sdsl.core import engine
from sdsl.core.metrics import summarise
from sdsl.tracking import artifacts, groups, points, provenance
from sdsl.tracking.ledger import Ledger, params
from sdsl.tracking.provenance import ALONE
from sdsl.tracking.records import Group

GROUP = Group("st", "d", "st", "d", "", "none", "none", "", "", "own", 1, 1, 2, "", "", "g" * 64)


def history(run, name: str) -> dict[int, float]:
    points = client().get_metric_history(run.info.run_id, name)
    return {point.step: point.value for point in points}


def test_what_a_run_leaves(here):
    assert call(*TINY, "seed=0,3") == 0
    run = runs()[1]
    assert run.info.run_name == f"{TINY_NAME} · seed 3"
    tags = run.data.tags
    given = {"method": "st", "dataset": "twonorm", "labeler": "none", "replay": "none", "seed": "3"}
    assert given.items() <= tags.items()
    for name in ("data_sha256", "stream_sha256", "code_sha256", "run_key", "group_key"):
        assert len(tags[name]) == 64, name
    for name in ("data_source", "data_standing", "git_sha", "torch", "numpy", "sklearn", "mlflow"):
        assert tags[name], name
    for name in ("hydra", "dirty", "cpu", "threads", "host", "pid"):
        assert tags[name], name
    assert tags["fused_seeds"] == "2"
    shape = {"data_rows": "7400", "data_features": "20", "data_classes": "2"}
    assert shape.items() <= tags.items()
    digest = hashlib.sha256(artifact(run, "R.npy").read_bytes()).hexdigest()
    assert tags["R_sha256"] == digest and len(tags["config_sha256"]) == 64

    R = np.load(artifact(run, "R.npy"), allow_pickle=False)
    assert R.shape == (2, 2)
    np.testing.assert_allclose(np.loadtxt(artifact(run, "R.csv"), delimiter=","), R, atol=1e-6)
    assert Image.open(artifact(run, "R.png")).size > (400, 400)
    assert run.data.metrics["acc_online"] == np.diagonal(R).mean()
    assert run.data.metrics["acc_final"] == R[-1].mean() == run.data.metrics["acc_online"]  # ST
    assert {"forgetting", "bwt", "fwt", "prequential", "coverage"} < run.data.metrics.keys()
    assert {"seconds_train", "seconds_eval", "swap_steps", "lasting_swap"} < run.data.metrics.keys()
    assert history(run, "online") == {1: R[0, 0], 2: R[1, 1]}
    assert history(run, "final") == {1: R[1, 0], 2: R[1, 1]}
    assert history(run, "past_mean") == {1: R[0, 0], 2: R[1].mean()}
    assert run.data.params["learner.pretrain.steps"] == "5"
    assert run.data.params["seed.values"] == "[3]"
    assert not any("sources" in name for name in run.data.params)

    with open(artifact(run, "curves.csv")) as file:
        head = file.readline().strip().split(",")
    assert {"step", "online", "gold_only", "prequential", "test_acc"} < set(head)
    assert "torch==" in artifact(run, "environment.txt").read_text()

    (group,) = runs("group")
    assert group.info.run_name == TINY_NAME
    assert run.data.tags["mlflow.parentRunId"] == group.info.run_id
    accuracies = [r.data.metrics["acc_online"] for r in runs()]
    assert group.data.metrics["n_seeds"] == 2
    assert group.data.metrics["acc_online"] == pytest.approx(np.mean(accuracies))
    assert group.data.metrics["acc_online_std"] == pytest.approx(np.std(accuracies, ddof=1))


def test_a_parent_has_params_mean_curves_and_the_time_of_its_seeds(here):
    line = (*TINY[1:], "method=jt", "replay.fit.steps=5")
    assert call(*line, "seed=0,3") == 0
    (parent,), seeds = runs("group"), runs()
    shared = seeds[0].data.params.items() & seeds[1].data.params.items()
    assert parent.data.params.items() == shared
    assert "seed.values" not in parent.data.params and "replay.fit.steps" in parent.data.params
    for name in ("online", "past_mean", "final", "pseudo_label_acc"):
        both = [history(run, name) for run in seeds]
        for step in (1, 2):
            values = [curve[step] for curve in both]
            assert history(parent, name)[step] == pytest.approx(np.mean(values))
            assert history(parent, f"{name}_std")[step] == pytest.approx(np.std(values, ddof=1))
    assert parent.info.start_time <= min(run.info.start_time for run in seeds)
    assert parent.info.end_time == max(run.info.end_time for run in seeds)


@pytest.mark.parametrize("how", [(), ("-m", SERIAL, "fuse=false")], ids=["run", "unfused"])
def test_seeds_that_come_later_leave_one_parent_with_one_curve(here, how):
    for seeds in ("seed=0,1", "seed=range(4)"):
        assert call(*how, *TINY, seeds) == 0
    (parent,) = runs("group")
    assert parent.data.metrics["n_seeds"] == 4
    assert {run.data.tags["mlflow.parentRunId"] for run in runs()} == {parent.info.run_id}
    points = client().get_metric_history(parent.info.run_id, "online")
    assert [point.step for point in points] == [1, 2]  # not twice
    values = [history(run, "online")[1] for run in runs()]
    assert points[0].value == pytest.approx(np.mean(values))
    assert call(*how, *TINY, "seed=range(4)") == 0
    assert runs("group")[0].info.run_id == parent.info.run_id


def test_the_data_is_an_input_that_mlflow_finds(here):
    assert call(*TINY) == 0
    for run in (*runs(), *runs("group")):
        (given,) = run.inputs.dataset_inputs
        assert given.dataset.name == "twonorm"
        assert given.dataset.digest == run.data.tags["data_sha256"][:12]
        assert run.data.tags["data_source"] in given.dataset.source
        assert run.data.tags["data_standing"] in given.dataset.source
    found = client().search_runs([run.info.experiment_id], "dataset.name = 'twonorm'")
    assert len(found) == 2
    assert not client().search_runs([run.info.experiment_id], "dataset.name = 'spam'")


def test_what_a_component_reports_reaches_the_store(here):
    assert call(*TINY[1:], "method=jt", "replay.fit.steps=5") == 0
    (run,) = runs()
    with open(artifact(run, "curves.csv")) as file:
        rows = list(csv.DictReader(file))
    logged = {int(row["step"]): float(row["loss_replay"]) for row in rows}
    assert history(run, "step/loss_replay") == pytest.approx(logged)


def test_long_curves_are_thinned_and_constant_ones_are_two_points():
    def steps(values, most=1000):
        return [point.step for point in points.points("x", np.array(values), 1, most)]

    assert steps([0.1, 0.2, np.nan, 0.4]) == [1, 2, 4]
    assert steps([0.5] * 9, most=100) == [1, 9] and len(steps([0.5] * 9)) == 9
    assert steps(np.arange(7), most=3) == [1, 4, 7]
    assert len(steps(np.arange(5000))) == 1000
    assert steps(np.arange(5000))[-1] == 5000


def test_a_run_of_changed_code_carries_the_change(here, monkeypatch):
    monkeypatch.setattr(provenance, "diff", lambda: " M sdsl/engine.py\n+changed\n")
    provenance.tags.cache_clear()
    assert call(*TINY) == 0
    provenance.tags.cache_clear()
    (run,) = runs()
    assert run.data.tags["dirty"] == "true"
    assert artifact(run, "diff.patch").read_text() == " M sdsl/engine.py\n+changed\n"


def test_the_same_command_again_resumes(here, capfd):
    assert call(*TINY, "seed=0,1") == 0
    first = capfd.readouterr().out
    assert "\n2 runs: " in first
    before = {run.info.run_id for run in runs()}
    assert call(*TINY, "seed=0,1") == 0
    said = "2 runs from the store, nothing was computed: "
    again = capfd.readouterr().out.replace(said, "2 runs: ")
    assert again == first  # the same table, to the byte, from the ledger
    assert {run.info.run_id for run in runs()} == before

    assert call("-m", SERIAL, *TINY, "seed=range(4)") == 0  # only the two that lack
    assert [run.data.tags["fused_seeds"] for run in runs()] == ["2", "2", "2", "2"]
    assert set(status().values()) == {"FINISHED"}
    assert runs("group")[0].data.metrics["n_seeds"] == 4

    client().set_terminated(runs()[0].info.run_id, "FAILED")
    stored(runs()[1], "R.npy").unlink()
    assert call(*TINY, "seed=range(4)") == 0  # the failed one and the one without its R
    assert len(runs()) == 6
    assert call(*TINY, "seed=2", "force=true") == 0
    assert len(runs()) == 7
    assert call(*TINY, "seed=2", "learner.pretrain.lr=0.02") == 0
    assert len(runs()) == 8 and len(runs("group")) == 2


@pytest.mark.parametrize("name", ["R.npy", "config.yaml"])
@pytest.mark.parametrize("damage", [b"", b"something else"])
def test_a_run_whose_files_are_not_whole_is_done_again(here, name, damage):
    assert call(*TINY, "seed=0,1") == 0
    before = {run.info.run_id for run in runs()}
    stored(runs()[0], name).write_bytes(damage)
    assert call(*TINY, "seed=0,1") == 0
    again = [run for run in runs() if run.info.run_id not in before]
    assert [run.info.run_name for run in again] == [f"{TINY_NAME} · seed 0"]
    assert call(*TINY, "seed=0,1") == 0  # the new run counts
    assert len(runs()) == 3


@pytest.mark.parametrize("mode", [(), ("-m", SERIAL)], ids=["run", "sweep"])
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("stream.gold=foo", "segment, record, or a number"),
        ("dataset.segment_size=5000", "fewer than two segments"),
        ("dataset.test_size=5000", "must be below"),
        ("dataset.order=sorted_by_nothing", "order"),
    ],
)
def test_a_refusal_leaves_no_run(here, capfd, mode, word, said):
    assert call(*mode, *TINY, word) in (1, 2)
    assert said in capfd.readouterr().err
    assert runs() == [] and runs("group") == []


def test_a_class_without_gold_leaves_no_run(here, capfd):
    (here / "rows.csv").write_text("x,label\n" + "1,a\n3,a\n" * 30 + "2,b\n" * 60)
    line = ("dataset=own/csv", "dataset.path=rows.csv", "dataset.segment_size=20", *TINY[2:])
    assert call("method=st", *line, "dataset.test_size=5") == 2
    assert "has no row of class b" in capfd.readouterr().err
    assert runs() == [] and runs("group") == []


def test_exceptions_and_signals_are_recorded(here, monkeypatch):
    def stop(error):
        def run(*args):
            raise error

        monkeypatch.setattr(engine, "run", run)

    stop(MemoryError("no room"))
    with pytest.raises(MemoryError):
        call(*TINY, "seed=0")
    stop(KeyboardInterrupt(15))
    assert call(*TINY, "seed=1") == 128 + 15
    assert list(status().values()) == ["FAILED", "KILLED"]
    assert "no room" in artifact(runs()[0], "traceback.txt").read_text()


def test_a_full_disk_costs_one_job(here, monkeypatch, capfd):
    real = artifacts.write

    def write(folder, R, curves, config, *texts):
        if config["dataset"]["name"] == "spam":
            Path("/dev/full").write_bytes(R.tobytes())
        real(folder, R, curves, config, *texts)

    monkeypatch.setattr(artifacts, "write", write)
    line = [word for word in TINY if not word.startswith("dataset=")]
    assert call("-m", SERIAL, *line, "dataset=spam,twonorm") == 1
    out, err = capfd.readouterr()
    assert status() == {
        TINY_NAME.replace("twonorm", "spam") + " · seed 0": "FAILED",
        f"{TINY_NAME} · seed 0": "FINISHED",
    }
    assert "dataset=spam" in err.partition("FAILED")[2] and "No space left on device" in err
    assert "No space left" in artifact(runs()[0], "traceback.txt").read_text()
    assert "twonorm" in out and os.listdir(here / "outputs") == ["mlruns"]


def test_440_runs_leave_under_300_mb(here, monkeypatch):
    """What the longest stream and the method that logs most leave, 440 times."""
    monkeypatch.setattr(provenance, "diff", lambda: "")  # whatever is being changed right now
    brief = ("labeler.fit.steps=1", "labeler.feedback.steps=1", "replay.steps=1", *TINY[-1:])
    line = ("method=ours", "dataset=ug_2c_2d", "probe=flatness", *brief)
    assert call(*line, "seed=0") == 0
    before = sizes(here)  # the schema of a new database, and one run
    assert call(*line, "seed=range(1,5)") == 0
    database, artifacts, _ = ((b - a) / 4 for a, b in zip(before, sizes(here), strict=True))
    assert 0 < 440 * (database + artifacts) < 300e6


def test_of_two_group_runs_made_at_once_one_stays(here, monkeypatch):
    ledger = Ledger(None, "sdsl")
    first = ledger._parent(GROUP, ALONE)
    search, answers = groups.oldest, [None]  # the second looks before the first is there
    monkeypatch.setattr(groups, "oldest", lambda *a: answers.pop() if answers else search(*a))
    assert ledger._parent(GROUP, ALONE) == first
    assert len(runs("group")) == 1


class Client:
    """Counts batches; refuses what MLflow refuses."""

    def __init__(self):
        self.calls = []

    def log_batch(self, run_id, metrics=(), params=()):
        assert len(metrics) + len(params) <= 1000 and len(params) <= 100
        self.calls.append((len(metrics), len(params)))


@pytest.mark.parametrize(
    ("metrics", "params", "calls"),
    [(507, 60, 1), (940, 60, 1), (941, 60, 2), (2940, 60, 3), (10, 250, 3)],
)
def test_one_batch_where_it_fits(metrics, params, calls):
    client = Client()
    points.log(client, "id", list(range(metrics)), list(range(params)))
    assert len(client.calls) == calls
    assert np.sum(client.calls, 0).tolist() == [metrics, params]


def log_three(uri: str, worker: int) -> None:
    ledger = Ledger(uri, "sdsl")
    for seed in range(3):
        with ledger.recording(GROUP, {10 * worker + seed: f"{worker}-{seed}"}) as ids:
            (run_id,) = ids.values()
            points.log(ledger.client, run_id, [Metric("acc_online", 0.5, 0, 0)] * 500, [])
            ledger.client.log_text(run_id, f"{worker}", "R.npy")
            ledger.client.set_terminated(run_id, "FINISHED")


def test_eight_processes_on_a_fresh_database(here):
    Ledger(None, "sdsl")  # the parent makes the experiment
    # The children must not share the parent's connections: to them it is another address.
    uri = f"sqlite:///{here / 'mlflow.db'}?timeout=90"
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=log_three, args=(uri, i)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 8
    assert len(runs()) == 24 and {run.info.status for run in runs()} == {"FINISHED"}
    (group,) = runs("group")
    assert group.data.metrics["n_seeds"] == 24


def test_params_are_flat_and_short():
    config = {"dataset": {"sources": [1], "path": "x" * 9000}, "learner": {"hidden": [100]}}
    flat = {param.key: param.value for param in params(config)}
    assert flat == {"dataset.path": "x" * 6000, "learner.hidden": "[100]"}


def test_metrics_of_the_ledger_are_those_of_R(here):
    line = (*TINY[1:], "method=jt", "replay.fit.steps=5")
    assert call(*line) == 0
    (run,) = runs()
    R = experiment.run(experiment.setup(composed(*line))).outcome.R[0]
    assert np.load(artifact(run, "R.npy")).tobytes() == R[1:].tobytes()
    for name, value in summarise(R).as_dict().items():
        assert run.data.metrics[name] == value
    assert run.data.metrics["pseudo_label_acc_mean"] == 1.0
    assert history(run, "pseudo_label_acc") == {1: 1.0, 2: 1.0}
