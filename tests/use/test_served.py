"""A run's classifier as an MLflow model: the same bits as the run, the same labels over HTTP."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import cli
import numpy as np
import pandas as pd
import pytest
import support
import torch

from sdsl import experiment, served
from sdsl.errors import UserError
from sdsl.tracking.address import store_uri
from sdsl.tracking.client import PatientClient, experiment_id

COLUMNS = ["x0", "x1", "x2"]


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


def test_a_run_gives_its_model_back(logged):
    run, model, X = logged
    files = {p.name for p in Path("outputs").rglob("*")}
    assert "state.sdsl" in files and not [name for name in files if name.endswith(".pkl")]
    again = served.load_run(run)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert (again.adapt(X) == model.adapt(X)).all()
    with pytest.raises(UserError, match=r"has no model .* tracking\.model=true"):
        served.load_run("0" * 32)


def test_served_on_loopback_it_gives_the_same_labels(logged):
    run, model, X = logged
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "mlflow", "models", "serve", "-m", f"runs:/{run}/{served.NAME}"]
    line += ["--env-manager", "local", "-h", "127.0.0.1", "-p", str(port)]
    env = os.environ | {"MLFLOW_TRACKING_URI": store_uri(None), "PYTHONPATH": str(support.ROOT)}
    env["PATH"] = f"{os.path.dirname(sys.executable)}{os.pathsep}{env['PATH']}"
    server = subprocess.Popen(line, env=env, start_new_session=True, stderr=subprocess.PIPE)
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
