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

import cli
import mlflow
import numpy as np
import pandas as pd
import pytest
import support
import torch

from sdsl import experiment, load_run, served
from sdsl.errors import UserError
from sdsl.label import main as label
from sdsl.tracking.address import store_uri
from sdsl.tracking.client import PatientClient, experiment_id

COLUMNS = ["x0", "x1", "x2"]
RUN = ("method=pl_conf", "dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=30")
OWN = {
    "lab/majority.py": """
from dataclasses import dataclass
import torch
from sdsl.api import Labeler, Pseudo, Rows

@dataclass
class Majority(Labeler):
    def label(self, step, learner):
        y = torch.zeros(step.X.shape[:2], dtype=torch.long)
        return Pseudo(y, Rows.full(step.X, y))
""",
    "conf/labeler/majority.yaml": "name: lab.majority\n",
    "conf/method/majority.yaml": "# @package _global_\ndefaults:\n  - override /labeler: majority\n"
    "  - override /replay: none\nmethod:\n  name: majority\n",
}


@pytest.fixture
def trial():
    cfg = support.brief(support.config("method=ours")) | {"dataset": support.small(60, 20)}
    setup = experiment.setup(cfg)
    return setup, experiment.run(setup, [0, 3], support.blobs(rows=240, classes=3, d=3, drift=0.5))


@pytest.fixture
def logged(here, trial):
    """(run id, the model that was logged, rows)"""
    setup, done = trial
    client = PatientClient(store_uri(None))
    run = client.create_run(experiment_id(client, "sdsl")).info.run_id
    model = served.final_model(setup, done.stream, 1)
    X = pd.DataFrame(done.stream.tests()[0][1, 0].numpy(), columns=COLUMNS)
    served.log_model(model, X, run, None)
    return run, model, X


def test_it_is_the_model_that_the_run_left(trial):
    setup, done = trial
    model = served.final_model(setup, done.stream, 1)
    mine, theirs = model.following_.adapting.learner, done.outcome.learner
    assert all(torch.equal(a[0], b[1]) for a, b in zip(mine.theta, theirs.theta, strict=True))


def test_its_features_have_the_names_of_the_stream(trial):
    setup, _ = trial
    table = replace(support.blobs(rows=240, classes=3, d=3), features=("u", "v", "site=a"))
    stream = experiment.cut(setup, table, [0])
    model = served.final_model(setup, stream, 0)
    assert list(model.feature_names_in_) == ["u", "v", "site=a"]
    assert list(served.example(stream, 0).columns) == ["u", "v", "site=a"]


def test_the_address_of_the_store_is_not_in_it(trial, tmp_path):
    setup, done = trial
    config = {**setup.config, "tracking": {**setup.config["tracking"], "uri": "http://me:pw@host"}}
    served.final_model(experiment.setup(config), done.stream, 0).save(tmp_path / "m.sdsl")
    assert b"pw@host" not in (tmp_path / "m.sdsl").read_bytes()


def test_a_run_gives_its_model_back(logged):
    run, model, X = logged
    files = {p.name for p in Path("outputs").rglob("*")}
    assert "state.sdsl" in files and not [name for name in files if name.endswith(".pkl")]
    again = load_run(run)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert (again.adapt(X) == model.adapt(X)).all()
    with pytest.raises(UserError, match="There is no run 0000"):
        load_run("0" * 32)


def test_signature_example_code_and_packages_are_recorded(logged):
    run = logged[0]
    info = mlflow.models.get_model_info(f"runs:/{run}/{served.NAME}")
    assert info.signature.inputs.input_names() == COLUMNS and info.run_id == run
    folder = next(Path("outputs").rglob("MLmodel")).parent
    assert (folder / "code" / "sdsl" / "served.py").exists()
    assert "torch==" in (folder / "requirements.txt").read_text()
    rows = mlflow.models.Model.load(folder).load_input_example(str(folder))
    assert rows.columns.tolist() == COLUMNS and len(rows) == served.EXAMPLE_ROWS


def environment(**more: str) -> dict[str, str]:
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"MLFLOW_TRACKING_URI": store_uri(None), "PATH": path} | more


def predicted(run: str, X: pd.DataFrame, **more: str) -> list[str]:
    """What `mlflow models predict` writes."""
    Path("rows.json").write_text(json.dumps({"dataframe_split": X.to_dict(orient="split")}))
    line = [sys.executable, "-m", "mlflow", "models", "predict", "-m", f"runs:/{run}/model"]
    line += ["-i", "rows.json", "-o", "labels.json", "-t", "json", "--env-manager", "local"]
    done = subprocess.run(line, env=environment(**more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(Path("labels.json").read_text())["predictions"]


def test_mlflow_models_predict_gives_the_same_labels(logged):
    run, model, X = logged
    assert predicted(run, X) == model.predict(X).tolist()


def test_served_on_loopback_it_gives_the_same_labels(logged):
    run, model, X = logged
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "mlflow", "models", "serve", "-m", f"runs:/{run}/{served.NAME}"]
    line += ["--env-manager", "local", "-h", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(
        line, env=environment(), start_new_session=True, stderr=subprocess.PIPE
    )
    try:
        cli.wait_for(lambda: answers(port), server)
        body = json.dumps({"dataframe_split": X.to_dict(orient="split")}).encode()
        ask = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations", body, {"Content-Type": "application/json"}
        )
        labels = json.load(urllib.request.urlopen(ask, timeout=60))["predictions"]
        assert labels == model.predict(X).tolist() and len(np.unique(labels)) > 1
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


def answers(port: int) -> bool:
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=2).status == 200
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


def test_it_runs_the_code_and_needs_the_packages_that_were_recorded(logged):
    folder = next(Path("outputs").rglob("MLmodel")).parent.absolute()
    line = [sys.executable, "-c", LOADED, str(folder)]
    done = subprocess.run(line, env=environment(PYTHONPATH=""), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = [Path(name) for name in json.loads(done.stdout.splitlines()[-1])]
    assert len(files) > 40 and all(file.is_relative_to(folder / "code") for file in files)
    known = packages_distributions()
    used = {dist for file in files for name in imported(file) for dist in known.get(name, [])}
    pinned = tomllib.loads((support.ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    # The others (SQLAlchemy, requests) come along with MLflow.
    assert used & {line.partition("==")[0] for line in pinned} == set(served.NEEDED)
    recorded = (folder / "requirements.txt").read_text()
    assert all(re.search(rf"^{name}==\d", recorded, re.M) for name in served.NEEDED)


def test_a_run_of_sdsl_run_logs_its_model_and_keeps_its_bits(here, capfd):
    assert cli.call(*RUN, "tracking.model=true") == 0
    assert re.search(r"model of seed 0: runs:/\w+/model", capfd.readouterr().err)
    (first,) = cli.runs()
    model = load_run(first.info.run_id)
    setup = experiment.setup(support.config(*RUN))
    X, y = (part[0] for part in experiment.cut(setup, experiment.load(setup), [0]).tests())
    classes = experiment.load(setup).classes
    right = [
        (model.predict(pd.DataFrame(x, columns=model.feature_names_in_)) == np.array(classes)[t])
        for x, t in zip(X.numpy(), y.numpy(), strict=True)
    ]
    R = np.load(cli.artifact(first, "R.npy"))
    assert (np.mean(right, 1) == R[-1]).all()
    assert cli.call(*RUN, "force=true") == 0
    a, b = cli.runs()
    assert a.data.tags["run_key"] == b.data.tags["run_key"]
    assert (np.load(cli.artifact(a, "R.npy")) == np.load(cli.artifact(b, "R.npy"))).all()
    assert not served.has_model(b.info.run_id, None)


def test_a_finished_run_without_a_model_gets_one_and_stays_as_it_is(here):
    assert cli.call(*RUN, "seed=0,1") == 0
    before = cli.runs()
    with pytest.raises(UserError, match=r"has no model .*tracking\.model=true adds it"):
        load_run(before[0].info.run_id)
    for _ in range(2):  # the second time there is nothing left to do
        assert cli.call(*RUN, "seed=0,1", "tracking.model=true") == 0
        after = cli.runs()
        assert [r.to_dictionary()["info"] for r in after] == [
            r.to_dictionary()["info"] for r in before
        ]
        assert [r.data.metrics for r in after] == [r.data.metrics for r in before]
        assert [len(r.outputs.model_outputs) for r in after] == [1, 1]
    seeds = [load_run(run.info.run_id).seed for run in after]
    assert seeds == [0, 1]
    history = cli.client().get_metric_history(after[0].info.run_id, "acc_final")
    assert len(history) == 1  # MLflow would log metrics again along with a model


@pytest.mark.parametrize("method", ["jt", "oracle_labels", "static_bound"])
def test_a_method_that_reads_true_labels_has_no_model(here, method, capfd):
    assert cli.call(f"method={method}", "tracking.model=true") == 2
    err = capfd.readouterr().err
    assert "reads true labels" in err and "tracking.model" in err and "Traceback" not in err
    assert not cli.runs()


def test_components_of_ones_own_come_along(here, monkeypatch):
    for name, text in OWN.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    monkeypatch.syspath_prepend(here)
    line = ("--config-dir", "conf", "method=majority", *RUN[1:], "tracking.model=true")
    assert cli.call(*line) == 0
    (run,) = cli.runs()
    model = load_run(run.info.run_id, modules=["lab.majority"])
    with pytest.raises(UserError, match=r"modules=\['lab\.majority'\]"):
        load_run(run.info.run_id)
    os.rename("lab", "gone")  # what is served is what was recorded
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 20)), columns=model.feature_names_in_)
    assert predicted(run.info.run_id, X, PYTHONPATH="") == model.predict(X).tolist()


def test_a_deployment_gives_its_model_back(here):
    data = support.blobs(rows=120, classes=2, d=3)
    table = pd.DataFrame(data.X, columns=list("abc")).assign(kind=data.y)
    table[:60].to_csv("gold.csv", index=False)
    table[60:].drop(columns="kind").to_csv("day.csv", index=False)
    label(["gold=gold.csv", "files=day.csv", "label=kind", "out=done", "method=st"])
    found = cli.client().get_experiment_by_name("sdsl-label")
    (run,) = cli.client().search_runs([found.experiment_id])
    model = load_run(run.info.run_id)
    labels = pd.read_csv("done/day.csv").label.astype(str)
    assert (model.predict(table[60:][list("abc")]) == labels.to_numpy()).all()
    os.rename("done", "gone")
    with pytest.raises(UserError, match=r"is a deployment of host .* no such file here"):
        load_run(run.info.run_id)
