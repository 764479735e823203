"""What runs in an evaluation is what runs in use: the same labels and parameters, bit for bit."""

import os
import subprocess
import sys

import numpy as np
import pytest
import support
import torch
from safetensors.numpy import load_file, save_file

from sdsl import experiment
from sdsl.core.adaptation import Adaptation
from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier

DATA = support.blobs(rows=360, classes=3, d=4, drift=1.0, spread=1.0)
SIZES = {"segment_size": 60, "test_size": 20}
SEED = 3


def evaluated(method, monkeypatch):
    """(stream, outcome, pseudo-labels of each step) of the experiment that sdsl.run runs."""
    cfg = support.brief(support.config(f"method={method}")) | {"dataset": support.small(**SIZES)}
    labels, step = [], Adaptation.step

    def noted(self, X, truth=None):
        pseudo, logged = step(self, X, truth)
        labels.append(pseudo.y)
        return pseudo, logged

    monkeypatch.setattr(Adaptation, "step", noted)
    trial = experiment.run(experiment.setup(cfg), [1, SEED], DATA)  # beside another seed
    monkeypatch.setattr(Adaptation, "step", step)
    return trial.stream, trial.outcome, labels


def test_fed_the_same_segments_it_leaves_the_same_bits(blind_method, quick, monkeypatch):
    stream, outcome, labels = evaluated(blind_method, monkeypatch)
    gold = stream.gold()
    model = quick(blind_method, seed=SEED).fit(gold.X[1].numpy(), gold.y[1].numpy())
    for t in range(1, stream.T + 1):
        given = model.adapt(stream.segment(t)[1].numpy())
        if labels[t - 1] is not None:
            assert (given == labels[t - 1][1].numpy()).all()
    mine = model.following_.adapting
    for a, b in zip(mine.learner.theta, outcome.learner.theta, strict=True):
        assert torch.equal(a[0], b[1])
    assert torch.equal(mine.scaler.mean[0], outcome.scaler.mean[1])
    X, y = (part[1].flatten(0, 1).numpy() for part in stream.tests())
    right = (model.predict(X) == y).reshape(stream.T, -1).mean(1)
    assert (right == outcome.R[1, -1]).all()


@pytest.mark.parametrize("scaler", ["running", "per_step", "none"])
def test_also_under_another_scale(scaler, monkeypatch):
    cfg = support.brief(support.config("method=pl_conf", f"stream.scaler={scaler}"))
    trial = experiment.run(experiment.setup(cfg | {"dataset": support.small(**SIZES)}), [0], DATA)
    short = {"replay.fit.steps": 4, "learner.pretrain.steps": 4, "stream.scaler": scaler}
    stream = trial.stream
    model = StreamClassifier("pl_conf", overrides=short)
    model.fit(stream.gold().X[0].numpy(), stream.gold().y[0].numpy())
    for t in range(1, stream.T + 1):
        model.adapt(stream.segment(t)[0].numpy())
    for a, b in zip(
        model.following_.adapting.learner.theta, trial.outcome.learner.theta, strict=True
    ):
        assert torch.equal(a, b)


def test_saved_and_loaded_it_goes_on_bit_for_bit(blind_method, quick, turning, tmp_path):
    model = quick(blind_method).fit(*turning[0])
    for X, _ in turning[1:3]:
        model.adapt(X)
    model.save(tmp_path / "m.sdsl")
    again = StreamClassifier.load(tmp_path / "m.sdsl")
    assert again.get_params() == model.get_params()
    assert again.history_.equals(model.history_)
    for X, _ in turning[3:5]:
        assert (again.adapt(X) == model.adapt(X)).all()
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    last = [m.history_.drop(columns="seconds") for m in (again, model)]
    assert last[0].equals(last[1])


def test_also_before_the_first_segment_and_in_another_process(quick, turning, tmp_path):
    model = quick().fit(*turning[0])
    model.save(tmp_path / "m.sdsl")
    save_file({str(i): X for i, (X, _) in enumerate(turning)}, tmp_path / "X.safetensors")
    path = os.pathsep.join([str(support.ROOT), str(support.ROOT / "tests")])
    env = os.environ | {"PYTHONPATH": path}
    line = [sys.executable, __file__, str(tmp_path)]
    done = subprocess.run(line, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for X, _ in turning[1:4]:
        model.adapt(X)
    there = load_file(tmp_path / "there.safetensors")["p"]
    assert (there == model.predict_proba(turning[4][0])).all()


def test_files_that_are_no_model_are_refused(quick, turning, tmp_path):
    file, other = tmp_path / "m.sdsl", tmp_path / "n.sdsl"
    quick("st").fit(*turning[0]).save(file)
    other.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UserError, match="not a whole state file"):
        StreamClassifier.load(other)
    from sdsl.core.state import save_state

    save_state(other, {"kind": "Something"})
    with pytest.raises(UserError, match="not of a StreamClassifier"):
        StreamClassifier.load(other)
    save_state(other, {"kind": "StreamClassifier", "params": {}})
    with pytest.raises(UserError, match="damaged"):
        StreamClassifier.load(other)


def test_the_file_holds_gold_and_the_lookback_and_no_other_row(quick, turning, tmp_path):
    from safetensors import safe_open

    model = StreamClassifier("ours", overrides={"lookback.size": 10}).fit(*turning[0])
    model.adapt(turning[1][0])
    model.save(tmp_path / "m.sdsl")
    with safe_open(tmp_path / "m.sdsl", "np") as file:
        numbers = np.concatenate([file.get_tensor(k).ravel() for k in file.keys()])  # noqa: SIM118
    scaled = model.following_.adapting.scaler(torch.from_numpy(turning[1][0])[None])[0].numpy()
    held = [np.isin(rows, numbers).all(1).sum() for rows in (turning[1][0], scaled)]
    assert held == [0, 10]
    assert np.isin(turning[0][0], numbers).all()


# Rows of the last segment and of all earlier ones that may be in the file beside the lookback.
REMEMBERED = {"scargc": (60, 0), "record": (100, 100), "ours_record": (100, 100)}


def test_no_method_keeps_more_rows_than_the_readme_says(blind_method, quick, turning, tmp_path):
    from safetensors import safe_open

    size = 10
    model = quick(blind_method)
    model.set_params(overrides=model.overrides | {"lookback.size": size}).fit(*turning[0])
    for X, _ in turning[1:4]:
        model.adapt(X)
    model.save(tmp_path / "m.sdsl")
    with safe_open(tmp_path / "m.sdsl", "np") as file:
        numbers = np.concatenate([file.get_tensor(k).ravel() for k in file.keys()])  # noqa: SIM118

    def held(X: np.ndarray) -> int:
        scaled = model.following_.adapting.scaler(torch.from_numpy(X)[None])[0].numpy()
        rows = np.isin(X, numbers).all(1) | np.isin(scaled, numbers).all(1)
        # The mean of a class that had one row is that row.
        return int((rows & ~np.isin(X, model.following_.last.mean.astype(np.float32)).all(1)).sum())

    last, earlier = REMEMBERED.get(blind_method, (0, 0))
    assert held(turning[3][0]) <= size + last
    assert sum(held(X) for X, _ in turning[1:3]) <= earlier


if __name__ == "__main__":
    folder = sys.argv[1]
    there = StreamClassifier.load(f"{folder}/m.sdsl")
    rows = load_file(f"{folder}/X.safetensors")
    for i in "123":
        there.adapt(rows[i])
    save_file({"p": there.predict_proba(rows["4"])}, f"{folder}/there.safetensors")
