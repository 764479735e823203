"""The ledger: what a run leaves, when it counts, who it is, and how it waits for its store."""

import json
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from cli import SERIAL, TINY, call, runs, status
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from PIL import Image
from support import config

from sdsl import experiment
from sdsl.bench.store import sizes
from sdsl.core import engine
from sdsl.core.metrics import summarise
from sdsl.tracking import artifacts, identity, provenance
from sdsl.tracking import client as store
from sdsl.tracking import ledger as tracking
from sdsl.tracking.ledger import Ledger


def artifact(run, name: str):
    return MlflowClient(store.store_uri(None)).download_artifacts(run.info.run_id, name)


def history(run, name: str) -> dict[int, float]:
    points = MlflowClient(store.store_uri(None)).get_metric_history(run.info.run_id, name)
    return {point.step: point.value for point in points}


def test_what_a_run_leaves(here):
    assert call(*TINY, "seed=0,3") == 0
    run = runs()[1]
    assert run.info.run_name == "st · twonorm · seed 3"
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
    assert "torch==" in Path(artifact(run, "environment.txt")).read_text()

    (group,) = runs("group")
    assert group.info.run_name == "st · twonorm"
    assert run.data.tags["mlflow.parentRunId"] == group.info.run_id
    accuracies = [r.data.metrics["acc_online"] for r in runs()]
    assert group.data.metrics["n_seeds"] == 2
    assert group.data.metrics["acc_online"] == pytest.approx(np.mean(accuracies))
    assert group.data.metrics["acc_online_std"] == pytest.approx(np.std(accuracies, ddof=1))


def test_a_run_of_changed_code_carries_the_change(here, monkeypatch):
    monkeypatch.setattr(provenance, "diff", lambda: " M sdsl/engine.py\n+changed\n")
    provenance.tags.cache_clear()
    assert call(*TINY) == 0
    provenance.tags.cache_clear()
    (run,) = runs()
    assert run.data.tags["dirty"] == "true"
    assert Path(artifact(run, "diff.patch")).read_text() == " M sdsl/engine.py\n+changed\n"


def test_the_same_command_again_resumes(here, capfd):
    assert call(*TINY, "seed=0,1") == 0
    first = capfd.readouterr().out
    before = {run.info.run_id for run in runs()}
    assert call(*TINY, "seed=0,1") == 0
    assert capfd.readouterr().out == first  # the same table, to the byte, from the ledger
    assert {run.info.run_id for run in runs()} == before

    assert call("-m", SERIAL, *TINY, "seed=range(4)") == 0  # only the two that lack
    assert [run.data.tags["fused_seeds"] for run in runs()] == ["2", "2", "2", "2"]
    assert set(status().values()) == {"FINISHED"}
    assert runs("group")[0].data.metrics["n_seeds"] == 4

    MlflowClient(store.store_uri(None)).set_terminated(runs()[0].info.run_id, "FAILED")
    (here / "outputs/mlruns" / runs()[1].info.run_id / "artifacts/R.npy").unlink()
    assert call(*TINY, "seed=range(4)") == 0  # the failed one and the one without its R
    assert len(runs()) == 6
    assert call(*TINY, "seed=2", "force=true") == 0
    assert len(runs()) == 7
    assert call(*TINY, "seed=2", "learner.pretrain.lr=0.02") == 0
    assert len(runs()) == 8 and len(runs("group")) == 2


def test_exceptions_and_signals_are_told(here, monkeypatch):
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
    assert "no room" in Path(artifact(runs()[0], "traceback.txt")).read_text()


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
    assert status() == {"st · spam · seed 0": "FAILED", "st · twonorm · seed 0": "FINISHED"}
    assert "dataset=spam" in err.partition("FAILED")[2] and "No space left on device" in err
    assert "No space left" in Path(artifact(runs()[0], "traceback.txt")).read_text()
    assert "twonorm" in out and not list((here / "outputs" / "tmp").iterdir())


def test_440_runs_leave_under_300_mb(here):
    """What the longest stream and the method that logs most leave, 440 times."""
    brief = ("labeler.fit.steps=1", "labeler.feedback.steps=1", "replay.steps=1", *TINY[-1:])
    line = ("method=ours", "dataset=ug_2c_2d", "probe=flatness", *brief)
    assert call(*line, "seed=0") == 0
    before = sizes(here)  # the schema of a new database, and one run
    assert call(*line, "seed=range(1,5)") == 0
    database, artifacts, _ = ((b - a) / 4 for a, b in zip(before, sizes(here), strict=True))
    assert 0 < 440 * (database + artifacts) < 300e6


def test_stale_runs_are_adopted(here):
    ledger = Ledger(None, "sdsl")
    mine = {**provenance.tags(), **provenance.job}
    gone = {**mine, "pid": "1", "process_start": "another boot:1"}
    far = {**gone, "host": "another-host"}
    lost = {**far, "sweep": f"{mine['host']} 1 another boot:1"}  # of a sweep that was killed here
    ids = [
        ledger.client.create_run(ledger.experiment, tags=tags).info.run_id
        for tags in (mine, gone, far, lost)
    ]
    ledger.adopt_stale()
    found = [ledger.client.get_run(run_id).info.status for run_id in ids]
    assert found == ["RUNNING", "KILLED", "RUNNING", "KILLED"]


def test_of_two_group_runs_made_at_once_one_stays(here, monkeypatch):
    ledger = Ledger(None, "sdsl")
    tags = {"group_key": "g", "kind": "group"}
    first = ledger._group_run("a", tags)
    search, answers = ledger._search, [[]]  # the second looks before the first is there
    monkeypatch.setattr(ledger, "_search", lambda *a: answers.pop() if answers else search(*a))
    assert ledger._group_run("a", tags) == first
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
    ledger = Ledger.__new__(Ledger)
    ledger.client = Client()
    ledger._log_batches("id", list(range(metrics)), list(range(params)))
    assert len(ledger.client.calls) == calls
    assert np.sum(ledger.client.calls, 0).tolist() == [metrics, params]


def test_a_locked_store_is_waited_for_and_a_broken_one_is_not(monkeypatch):
    monkeypatch.setattr(store, "MlflowClient", lambda uri: None)
    monkeypatch.setattr(store.time, "sleep", lambda seconds: None)
    client = store.PatientClient("nowhere")
    answers = ["database is locked", "API request failed: Max retries exceeded with url", None]

    def call():
        if text := answers.pop(0):
            raise MlflowException(text)
        return "done"

    assert client._patiently(call) == "done"
    answers[:] = ["database or disk is full", None]
    with pytest.raises(MlflowException, match="full"):
        client._patiently(call)


def log_three(uri: str, worker: int) -> None:
    ledger = Ledger(uri, "sdsl")
    for seed in range(3):
        tags = {"group_key": "g" * 64, "method": "st"}
        with ledger.recording("eight", tags, {10 * worker + seed: f"{worker}-{seed}"}) as ids:
            metrics = {"acc_online": worker / 10}
            (run_id,) = ids.values()
            ledger._log_batches(run_id, [tracking.Metric("acc_online", 0.5, 0, 0)] * 500, [])
            ledger.client.log_text(run_id, json.dumps(metrics), "R.npy")
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


def test_identity_is_config_data_seed_and_code():
    st, jt = config("method=st"), config("method=jt")
    key = identity.group_key(st, "data")
    assert identity.group_key(config("method=st", "seed=paper", "force=true"), "data") == key
    assert identity.group_key(config("method=st", "data.root=/elsewhere"), "data") == key
    assert identity.group_key(st, "other data") != key
    assert identity.group_key(config("method=st", "eval.every=2"), "data") != key
    assert identity.group_key(jt, "data") != key
    assert identity.run_key(key, 0) != identity.run_key(key, 1)


def test_code_that_counts_and_code_that_does_not():
    files = identity.code_files(config("method=st"))
    assert {
        "sdsl.core.engine",
        "sdsl.core.learner",
        "sdsl.core.metrics",
        "sdsl.labelers.none",
    } < files.keys()
    outside = {"tracking", "store", "job", "run", "launcher", "progress", "labelers.oracle"}
    assert not {f"sdsl.{name}" for name in outside} & files.keys()
    assert not any(name.startswith("sdsl.datasets") for name in files)
    assert "sdsl.labelers.oracle" in identity.code_files(config("method=jt"))


def test_a_changed_file_is_another_code(tmp_path, monkeypatch):
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "part.py").write_text("from . import helper\n")
    helper = tmp_path / "strange" / "helper.py"
    helper.write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    cfg = config("method=st") | {"labeler": {"name": "strange.part"}}
    assert "strange.helper" in identity.code_files(cfg)
    before = identity.code_sha256(cfg)
    helper.write_text("x = 2\n")
    identity._code_sha256.cache_clear()
    assert identity.code_sha256(cfg) != before


def test_metrics_of_the_ledger_are_those_of_R(here):
    assert call(*TINY, "method=jt", "replay.fit.steps=5") == 0
    (run,) = runs()
    cfg = config(*TINY, "method=jt", "replay.fit.steps=5")
    R = experiment.run(cfg, [0])[1].R[0]
    assert np.load(artifact(run, "R.npy")).tobytes() == R[1:].tobytes()
    for name, value in summarise(R).as_dict().items():
        assert run.data.metrics[name] == value
    assert run.data.metrics["pseudo_label_acc_mean"] == 1.0
    assert history(run, "pseudo_label_acc") == {1: 1.0, 2: 1.0}
