"""A run's classifier as an MLflow model: the same bits as the run, the same labels over HTTP."""

import ast
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from dataclasses import replace
from importlib.metadata import packages_distributions
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
import support
import torch
from label_command import command

from sdsl import experiment, load_run
from sdsl.config import setup
from sdsl.errors import UserError
from sdsl.tracking.address import store_uri
from sdsl.tracking.store import Store
from sdsl.use import saved, served

COLUMNS = ["x0", "x1", "x2"]
RUN = ("method=pl_conf", "dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=30")
OWN = {
    "lab/majority.py": """
import torch
from sdsl.api import Labeler, Pseudo, Rows, settings

@settings
class Majority(Labeler):
    def label(self, step, learner):
        y = torch.zeros(len(step.X), dtype=torch.long)
        return Pseudo(y, Rows(step.X, y))
""",
    "conf/labeler/majority.yaml": "_target_: lab.majority.Majority\n",
    "conf/method/majority.yaml": "# @package _global_\ndefaults:\n  - override /labeler: majority\n"
    "  - override /replay: none\nmethod:\n  name: majority\n",
}


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
    X = pd.DataFrame(done.stream.tests()[0][0].numpy(), columns=COLUMNS)
    served.log_model(model, X[:5], run, None)
    return run, model, X


def test_it_is_the_model_that_the_run_left(trial, tmp_path):
    made, done = trial
    uri = {"tracking": {**made.config["tracking"], "uri": "http://me:pw@host"}}
    model = served.final_model(setup({**made.config, **uri}), done.stream)
    mine, theirs = model.adaptation.learner, done.outcome.learner
    assert all(torch.equal(a, b) for a, b in zip(mine.theta, theirs.theta, strict=True))
    saved.save(tmp_path / "m.sdsl", model)
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
    assert (folder / "code" / "sdsl" / "estimator.py").exists()
    rows = mlflow.models.Model.load(folder).load_input_example(str(folder))
    assert rows.columns.tolist() == COLUMNS and len(rows) == 5


def environment(**more: str) -> dict[str, str]:
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"MLFLOW_TRACKING_URI": store_uri(None), "PATH": path} | more


def predicted(run: str, X: pd.DataFrame, **more: str) -> list[str]:
    """The output of `mlflow models predict`."""
    Path("rows.json").write_text(json.dumps({"dataframe_split": X.to_dict(orient="split")}))
    line = [sys.executable, "-m", "mlflow", "models", "predict", "-m", f"runs:/{run}/model"]
    line += ["-i", "rows.json", "-o", "labels.json", "-t", "json", "--env-manager", "local"]
    done = subprocess.run(line, env=environment(**more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(Path("labels.json").read_text())["predictions"]


@pytest.mark.slow
def test_predicted_and_served_on_loopback_it_gives_the_same_labels(logged):
    run, model, X = logged
    given = served.Served(model).predict(X).tolist()
    assert predicted(run, X) == given
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "mlflow", "models", "serve", "-m", f"runs:/{run}/{served.NAME}"]
    line += ["--env-manager", "local", "-h", "127.0.0.1", "-p", str(port)]
    with open("server.log", "wb") as log:
        server = subprocess.Popen(line, env=environment(), start_new_session=True, stderr=log)
    try:
        while not answers(port):
            assert server.poll() is None, Path("server.log").read_text()
        body = json.dumps({"dataframe_split": X.to_dict(orient="split")}).encode()
        ask = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations", body, {"Content-Type": "application/json"}
        )
        labels = json.load(urllib.request.urlopen(ask, timeout=600))["predictions"]
        assert labels == given and len(np.unique(labels)) > 1
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(600)


def answers(port: int) -> bool:
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=60).status == 200
    except OSError:
        time.sleep(0.3)
        return False


LOADED = """
import json, sys
import mlflow
mlflow.pyfunc.load_model(sys.argv[1])
print(json.dumps([m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] == "sdsl"]))
"""


def imported(file: Path) -> set[str]:
    """Top-level packages that a file imports when it is loaded."""
    found = set()
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.slow
def test_it_runs_the_code_and_needs_the_packages_that_were_recorded(logged):
    folder = next(Path("outputs").rglob("MLmodel")).parent.absolute()
    line = [sys.executable, "-c", LOADED, str(folder)]
    done = subprocess.run(line, env=environment(PYTHONPATH=""), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = [Path(name) for name in json.loads(done.stdout.splitlines()[-1])]
    assert len(files) > 20 and all(file.is_relative_to(folder / "code") for file in files)
    known = packages_distributions()
    used = {dist for file in files for name in imported(file) for dist in known.get(name, [])}
    pinned = tomllib.loads((support.ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    # The others (SQLAlchemy, requests, pydantic) come along with MLflow.
    needed = used & {line.partition("==")[0] for line in pinned}
    assert needed <= set(served.NEEDED.split())
    recorded = (folder / "requirements.txt").read_text()
    assert all(re.search(rf"^{name}==\d", recorded, re.M) for name in served.NEEDED.split())


def run(*words: str) -> None:
    from sdsl.run import main

    assert command(main, *RUN, *words) == 0


def finished() -> list[mlflow.entities.Run]:
    store = Store(None, "sdsl")
    found = store.client.search_runs([store.experiment_id], "tags.kind = 'run'")
    return sorted(found, key=lambda run: (run.data.tags["seed"], run.info.start_time))


@pytest.mark.slow
def test_a_finished_run_gets_its_model_and_stays_as_it_is(here):
    run("seed=0,1")
    before = finished()
    with pytest.raises(UserError, match=r"has no model .*tracking\.model=true logs one"):
        load_run(before[0].info.run_id)
    for _ in range(2):  # the second time there is nothing left to do
        run("seed=0,1", "tracking.model=true")
        after = finished()
        info = [[r.to_dictionary()["info"] for r in runs] for runs in (before, after)]
        assert info[0] == info[1]
        assert [r.data.metrics for r in after] == [r.data.metrics for r in before]
        assert [len(r.outputs.model_outputs) for r in after] == [1, 1]
    client, model = Store(None, "sdsl").client, load_run(after[1].info.run_id)
    assert model.seed == 1
    made = setup(support.composed(*RUN))
    stream = experiment.cut(made, experiment.load(made), 1)
    X, y = (part.flatten(0, 1).numpy() for part in stream.tests())
    names = np.array(stream.table.classes)[y]
    right = model.predict(pd.DataFrame(X, columns=model.feature_names_in_)) == names
    R = np.load(client.download_artifacts(after[1].info.run_id, "R.npy"))
    assert (right.reshape(stream.T, -1).mean(1) == R[-1]).all()
    metrics = client.get_metric_history(after[1].info.run_id, "acc_final")
    assert len(metrics) == 1  # MLflow would log metrics again along with a model


@pytest.mark.slow
def test_components_of_ones_own_come_along(here, monkeypatch):
    for name, text in OWN.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    monkeypatch.syspath_prepend(here)
    run("--config-dir", "conf", "method=majority", "tracking.model=true")
    (one,) = finished()
    model = load_run(one.info.run_id, modules=["lab.majority"])
    with pytest.raises(UserError, match=r"modules=\['lab\.majority'\]"):
        load_run(one.info.run_id)
    os.rename("lab", "gone")  # the code that was recorded is served
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 20)), columns=model.feature_names_in_)
    assert predicted(one.info.run_id, X, PYTHONPATH="") == model.predict(X).tolist()
