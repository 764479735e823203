"""An evaluation and use drive the same step: the same labels and parameters, bit for bit."""

import os
import subprocess
import sys

import numpy as np
import pytest
import support
import torch
from label_command import BLIND
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from sdsl.core.adaptation import Adaptation
from sdsl.core.state import load_state, save_state
from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier

DATA = support.blobs(rows=360, classes=3, d=4, drift=1.0, spread=1.0)
SEED = 3
MORE = [("pl_conf", f"stream.scaler={scaler}") for scaler in ("running", "per_step", "none")]


def evaluated(monkeypatch, *overrides):
    """(the trial of an experiment, the pseudo-labels of each step)"""
    labels, step = [], Adaptation.step

    def noted(self, X, truth=None):
        pseudo, log = step(self, X, truth)
        labels.append(pseudo.y)
        return pseudo, log

    config = support.brief(support.composed(*overrides, segment_size=60, test_size=20))
    with monkeypatch.context() as patch:
        patch.setattr(Adaptation, "step", noted)
        return support.run_config(config, DATA, SEED), labels


@pytest.mark.parametrize("method", [*((name,) for name in BLIND), *MORE], ids="-".join)
def test_fed_the_same_segments_it_leaves_the_same_bits(method, quick, monkeypatch):
    name, *overrides = method
    trial, labels = evaluated(monkeypatch, f"method={name}", *overrides)
    stream, outcome = trial.stream, trial.outcome
    gold = stream.gold()
    model = quick(name, gold.X.numpy(), gold.y.numpy(), SEED, *overrides)
    for t in range(1, stream.T + 1):
        given = model.adapt(stream.segment(t).numpy())
        if labels[t - 1] is not None:
            assert (given == labels[t - 1].numpy()).all()
    mine = model.follower_.adaptation
    for a, b in zip(mine.learner.theta, outcome.learner.theta, strict=True):
        assert torch.equal(a, b)
    assert torch.equal(mine.scaler.mean, outcome.scaler.mean)
    X, y = (part.flatten(0, 1).numpy() for part in stream.tests())
    right = (model.predict(X) == y).reshape(stream.T, -1).mean(1)
    assert (right == outcome.R[-1]).all()


@pytest.mark.parametrize("method", BLIND)
def test_saved_and_loaded_it_goes_on_bit_for_bit(method, quick, turning, tmp_path):
    model = quick(method, *turning[0])
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
    model = quick("ours", *turning[0])
    model.save(tmp_path / "m.sdsl")
    save_file({str(i): X for i, (X, _) in enumerate(turning)}, tmp_path / "X.safetensors")
    path = os.pathsep.join([str(support.ROOT), str(support.ROOT / "tests"), str(tmp_path)])
    env = os.environ | {"PYTHONPATH": path}
    line = [sys.executable, __file__, str(tmp_path)]
    done = subprocess.run(line, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for X, _ in turning[1:4]:
        model.adapt(X)
    there = load_file(tmp_path / "there.safetensors")["p"]
    assert (there == model.predict_proba(turning[4][0])).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: {"kind": "Something"}, "not the file of a StreamClassifier"),
        (lambda s: s | {"version": 0}, "of this version"),
        (lambda s: s | {"params": {"metod": "st"}}, "damaged"),
        (lambda s: {k: v for k, v in s.items() if k != "follower"}, "damaged"),
        (lambda s: aimed(s, "os.system"), "module os, which is not one of sdsl's"),
        (lambda s: aimed(s, "sdsl.core.state.os.system"), "which is not"),
        (lambda s: aimed(s, "sdsl.core.engine.Path"), "is not"),
    ],
)
def test_files_that_are_no_model_are_refused(quick, turning, tmp_path, change, sentence):
    file = tmp_path / "m.sdsl"
    quick("st", *turning[0]).save(file)
    save_state(file, change(load_state(file)))
    with pytest.raises(UserError, match=sentence):
        StreamClassifier.load(file)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UserError, match=r"m\.sdsl"):
        StreamClassifier.load(file)


def aimed(state: dict, target: str) -> dict:
    """The state with another class for the labeler."""
    state["follower"]["config"]["labeler"] = {"_target_": target}
    return state


# Rows of the last segment and of all earlier ones that may be in a file beside the lookback.
REMEMBERED = {"scargc": (60, 0), "record": (100, 100), "ours_record": (100, 100)}


@pytest.mark.parametrize("method", BLIND)
def test_a_file_holds_no_more_rows_than_the_readme_says(method, quick, turning, tmp_path):
    size = 10
    model = quick(method, *turning[0], 0, f"lookback.size={size}")
    for X, _ in turning[1:4]:
        model.adapt(X)
    model.save(tmp_path / "m.sdsl")
    with safe_open(tmp_path / "m.sdsl", "np") as file:
        numbers = np.concatenate([file.get_tensor(k).ravel() for k in file.keys()])  # noqa: SIM118

    def held(X: np.ndarray) -> int:
        scaled = model.follower_.adaptation.scaler(torch.from_numpy(X)).numpy()
        rows = np.isin(X, numbers).all(1) | np.isin(scaled, numbers).all(1)
        # The mean of a class that had one row is that row.
        mean = model.follower_.monitor.last.mean.astype(np.float32)
        return int((rows & ~np.isin(X, mean).all(1)).sum())

    last, earlier = REMEMBERED.get(method, (0, 0))
    assert held(turning[3][0]) <= size + last
    assert sum(held(X) for X, _ in turning[1:3]) <= earlier
    assert held(turning[0][0]) == 60  # gold


if __name__ == "__main__":
    folder = sys.argv[1]
    there = StreamClassifier.load(f"{folder}/m.sdsl")
    rows = load_file(f"{folder}/X.safetensors")
    for i in "123":
        there.adapt(rows[i])
    save_file({"p": there.predict_proba(rows["4"])}, f"{folder}/there.safetensors")
