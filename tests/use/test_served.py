"""A run's classifier as an MLflow model: the bits of the run, and labels by MLflow's command."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

import mlflow
import numpy as np
import pandas as pd
import pytest
import support
import torch
from cli import call, runs, stored
from mlflow import MlflowClient

from sdsl import experiment, load_run
from sdsl.config import composed, setup
from sdsl.core.rows import Rows
from sdsl.errors import UserError
from sdsl.tracking.address import store_uri
from sdsl.tracking.store import Store
from sdsl.use import served

COLUMNS = ["x0", "x1", "x2"]
RUN = ("method=pl_conf", "dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=30")


@pytest.fixture
def trial():
    sizes = {"segment_size": 60, "test_size": 20}
    made = setup(support.brief(support.composed("method=ours", **sizes)))
    return made, experiment.run(made, 3, support.blobs(rows=240, classes=3, d=3, drift=0.5))


@pytest.fixture
def logged(here, trial):
    """(run id, the model that was logged, rows)"""
    made, done = trial
    store = Store(None, "sdsl")
    run = store.client.create_run(store.experiment_id).info.run_id
    model = served.final_model(made, done.stream)
    X = pd.DataFrame(done.stream.tests()[0].X.numpy(), columns=COLUMNS)
    served.log_model(model, X[:5], run, None)
    return run, model, X


def test_it_is_the_model_that_the_run_left(trial, tmp_path):
    made, done = trial
    uri = {"tracking": {**made.config["tracking"], "uri": "http://me:pw@host"}}
    model = served.final_model(setup({**made.config, **uri}), done.stream)
    mine, theirs = model.adaptation.learner, done.outcome.learner
    assert all(torch.equal(a, b) for a, b in zip(mine.theta, theirs.theta, strict=True))
    model.save(tmp_path / "m.sdsl")
    assert b"pw@host" not in (tmp_path / "m.sdsl").read_bytes()


def test_its_features_have_the_names_of_the_stream(trial):
    made, _ = trial
    table = replace(support.blobs(rows=240, classes=3, d=3), features=("u", "v", "site=a"))
    stream = experiment.cut(made, table, 0)
    assert served.final_model(made, stream).columns.features == ["u", "v", "site=a"]
    assert list(served.example(stream).columns) == ["u", "v", "site=a"]


def test_a_run_gives_its_model_back_with_all_that_serving_needs(logged):
    run, model, X = logged
    again, rows = load_run(run), X.to_numpy(np.float32)
    assert (again.predict_proba(X) == model.probabilities(rows)).all()
    assert (again.adapt(X) == model.labels[model.step(rows)[0]]).all()
    assert served.has_model(run, None)
    with pytest.raises(UserError, match="Run 0000"):
        load_run("0" * 32)
    info = mlflow.models.get_model_info(f"runs:/{run}/{served.NAME}")
    assert info.signature.inputs.input_names() == COLUMNS and info.run_id == run
    folder = next(Path("outputs").rglob("MLmodel")).parent
    names = {path.name for path in folder.rglob("*")}
    assert "state.sdsl" in names and not [name for name in names if name.endswith(".pkl")]
    project = tomllib.loads((support.ROOT / "pyproject.toml").read_text())["project"]
    exact = {line.partition("==")[0] for line in (folder / "requirements.txt").open()}
    assert {line.partition(">=")[0] for line in project["dependencies"]} <= exact
    rows = mlflow.models.Model.load(folder).load_input_example(str(folder))
    assert rows.columns.tolist() == COLUMNS and len(rows) == 5


def environment(**more: str) -> dict[str, str]:
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"MLFLOW_TRACKING_URI": store_uri(None), "PATH": path} | more


def predicted(run: str, X: pd.DataFrame, **more: str) -> list[str]:
    """The labels that `mlflow models predict` gives."""
    Path("rows.json").write_text(json.dumps({"dataframe_split": X.to_dict(orient="split")}))
    line = [sys.executable, "-m", "mlflow", "models", "predict", "-m", f"runs:/{run}/model"]
    line += ["-i", "rows.json", "-o", "labels.json", "-t", "json", "--env-manager", "local"]
    done = subprocess.run(line, env=environment(**more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [row["label"] for row in json.loads(Path("labels.json").read_text())["predictions"]]


@pytest.mark.slow
def test_a_server_gives_labels_and_confidence(logged):
    """`mlflow models serve`, as in sdsl/use/README.md."""
    run, model, X = logged
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "mlflow", "models", "serve", "-m", f"runs:/{run}/model"]
    line += ["--env-manager", "local", "-h", "127.0.0.1", "-p", str(port)]
    body = json.dumps({"dataframe_split": X.to_dict(orient="split")}).encode()
    url, kind = f"http://127.0.0.1:{port}/invocations", {"Content-Type": "application/json"}
    opener, end = build_opener(ProxyHandler({})), time.monotonic() + 600
    server = subprocess.Popen(line, env=environment(), start_new_session=True)
    try:
        while True:
            try:
                answer = json.load(opener.open(Request(url, body, kind), timeout=600))
                break
            except URLError:
                assert server.poll() is None and time.monotonic() < end
                time.sleep(1)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()
    found, rows = pd.DataFrame(answer["predictions"]), X.to_numpy(np.float32)
    assert (found.label == model.labels[model.predict(rows)]).all() and found.label.nunique() > 1
    np.testing.assert_allclose(found.confidence, model.probabilities(rows).max(1))


LOADED = """
import sys, mlflow
mlflow.pyfunc.load_model(sys.argv[1])
print(*(m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] == "sdsl"), sep="\\n")
"""


@pytest.mark.slow
def test_it_runs_the_code_that_was_recorded(logged):
    folder = next(Path("outputs").rglob("MLmodel")).parent.absolute()
    line = [sys.executable, "-c", LOADED, str(folder)]
    done = subprocess.run(line, env=environment(PYTHONPATH=""), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = [Path(name) for name in done.stdout.splitlines()]
    assert len(files) > 20 and all(file.is_relative_to(folder / "code") for file in files)


@pytest.mark.slow
def test_a_finished_run_gets_its_model_and_stays_as_it_is(here):
    assert call(*RUN, "seed=0,1") == 0
    before = runs()
    with pytest.raises(UserError, match=r"has no model .*tracking\.model=true logs one"):
        load_run(before[0].info.run_id)
    for _ in range(2):  # the second time there is nothing left to do
        assert call(*RUN, "seed=0,1", "tracking.model=true") == 0
        after = runs()
        for old, new in zip(before, after, strict=True):
            assert old.to_dictionary()["info"] == new.to_dictionary()["info"]
            assert old.data.metrics == new.data.metrics and len(new.outputs.model_outputs) == 1
    run = after[1]
    model = load_run(run.info.run_id)
    assert str(model.seed) == run.data.tags["seed"] == "1"
    made = setup(composed(*RUN))
    stream = experiment.cut(made, experiment.load(made), 1)
    tests = Rows.cat(*stream.tests())
    names = np.array(stream.table.classes)[tests.y]
    X = pd.DataFrame(tests.X.numpy(), columns=model.feature_names_in_)
    right = model.predict(X) == names
    assert (right.reshape(stream.T, -1).mean(1) == np.load(stored(run, "R.npy"))[-1]).all()
    metrics = MlflowClient(store_uri(None)).get_metric_history(run.info.run_id, "acc_final")
    assert len(metrics) == 1  # MLflow would log metrics again along with a model


@pytest.mark.slow
def test_components_of_ones_own_come_along(here, majority):
    words = ("method=majority", *RUN[1:], "seed=0", "tracking.model=true")
    assert call("--config-dir", "conf", *words) == 0
    (run,) = runs()
    model = load_run(run.info.run_id, modules=["lab.majority"])
    with pytest.raises(UserError, match=r"modules=\['lab\.majority'\]"):
        load_run(run.info.run_id)
    os.rename("lab", "gone")  # the code that was recorded is served
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 20)), columns=model.feature_names_in_)
    assert predicted(run.info.run_id, X, PYTHONPATH="") == model.predict(X).tolist()
