"""An evaluation and use drive the same step: the same labels and parameters, bit for bit."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import support
import torch
from label_command import BLIND
from safetensors import safe_open

from sdsl.core.state import load_state, save_state
from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier

DATA = support.blobs(rows=360, classes=3, d=4, drift=1.0, spread=1.0)
SEED = 3
MORE = [("pl_conf", f"stream.scaler={scaler}") for scaler in ("per_step", "none")]


@pytest.mark.parametrize("method", [*((name,) for name in BLIND), *MORE], ids="-".join)
def test_fed_the_same_segments_it_leaves_the_same_bits(method, quick):
    name, *overrides = method
    config = support.composed(f"method={name}", *overrides, segment_size=60, test_size=20)
    trial = support.run_config(support.brief(config), DATA, SEED)
    stream, outcome, gold = trial.stream, trial.outcome, trial.stream.gold()
    known = outcome.curves.get("pseudo_label_acc", np.full(stream.T, np.nan))
    model = quick(name, gold.X.numpy(), gold.y.numpy(), SEED, *overrides)
    for t in range(1, stream.T + 1):
        given = model.adapt(stream.segment(t).numpy())
        right = (given == stream.truth(t).numpy()).mean()
        assert right == known[t - 1] or np.isnan(known[t - 1])
    mine = model.follower_.adaptation
    for a, b in zip(mine.learner.theta, outcome.learner.theta, strict=True):
        assert torch.equal(a, b)
    assert torch.equal(mine.scaler.mean, outcome.scaler.mean)
    right = [np.mean(model.predict(rows.X.numpy()) == rows.y.numpy()) for rows in stream.tests()]
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


def answers(model: StreamClassifier | Path, segments: list[np.ndarray]) -> bytes:
    """The probabilities of the last segment's rows, after all others."""
    model = StreamClassifier.load(model) if isinstance(model, Path) else model
    for X in segments[:-1]:
        model.adapt(X)
    return model.predict_proba(segments[-1]).tobytes()


def test_also_before_the_first_segment_and_in_another_process(quick, turning, tmp_path):
    model, segments = quick("ours", *turning[0]), [X for X, _ in turning[1:5]]
    model.save(tmp_path / "m.sdsl")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        there = pool.submit(answers, tmp_path / "m.sdsl", segments).result()
    assert there == answers(model, segments)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: {"kind": "Something"}, "not the file of a StreamClassifier"),
        (lambda s: s | {"kind": "StreamClassifier 1"}, "as this version of sdsl writes it"),
        (lambda s: s | {"params": {"metod": "st"}}, "damaged"),
        (lambda s: {k: v for k, v in s.items() if k != "follower"}, "damaged"),
        (lambda s: aimed(s, "os.system"), "module os, which is not one of sdsl's"),
        (lambda s: aimed(s, "sdsl.core.state.os.system"), "is no class"),
        (lambda s: aimed(s, "sdsl.core.state.Path"), "module pathlib, which is not"),
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
