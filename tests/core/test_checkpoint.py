"""A run that was stopped goes on from its checkpoint, with the bits of one that was not."""

from dataclasses import fields

import numpy as np
import pytest
import support
import torch

from sdsl import experiment
from sdsl.core import checkpoint, state
from sdsl.core.checkpoint import Checkpoint
from sdsl.errors import UserError

SEEDS = (0, 3)
DATA = support.blobs(rows=420, classes=3, d=4, drift=1.0, spread=1.0)  # gold and six segments
STOPPED = 4  # the segment after which the run is stopped


class Stop(Exception):
    """Stands for a kill."""


def begun(method: str, seeds=SEEDS, *more: str):
    cfg = support.brief(support.config(f"method={method}", "eval.context=true", *more))
    setup = experiment.setup(cfg | {"dataset": support.small(segment_size=60, test_size=20)})
    return setup, experiment.cut(setup, DATA, seeds)


def stop(t: int, online: float) -> None:
    if t == STOPPED:
        raise Stop


def run(method: str, kept=None, on_step=lambda t, online: None, seeds=SEEDS):
    setup, stream = begun(method, seeds)
    return experiment.run_on(setup, stream, on_step, kept).outcome


def bits(thing) -> bytes:
    """Arrays, and what holds them, by their bytes."""
    if isinstance(thing, np.ndarray):
        return np.ascontiguousarray(thing).tobytes()
    if isinstance(thing, torch.Tensor):
        return bits(thing.detach().numpy())
    if isinstance(thing, dict):
        return b"".join(str(k).encode() + bits(thing[k]) for k in sorted(thing))
    if isinstance(thing, list | tuple):
        return b"".join(map(bits, thing))
    if thing is None or isinstance(thing, int | float | str):
        return repr(thing).encode()
    return bits(vars(thing))


def same(a, b) -> None:
    """All of two outcomes but the clock; of the learner its parameters and random states."""
    for field in fields(a):
        if field.name not in ("seconds", "learner"):
            assert bits(getattr(a, field.name)) == bits(getattr(b, field.name)), field.name
    mine, theirs = a.learner, b.learner
    assert bits([*mine.theta, *mine.teacher]) == bits([*theirs.theta, *theirs.teacher])
    states = [[g.get_state() for g in one.init.generators] for one in (mine, theirs)]
    assert bits(states[0]) == bits(states[1])
    assert set(a.curves) == set(b.curves)


@pytest.fixture
def made(tmp_path):
    """Checkpoints of one file, and what they said."""
    said: list[str] = []

    def make(key: str = "this run", seconds: float = 0.0) -> Checkpoint:
        return Checkpoint(tmp_path / "kept" / "a.sdsl", key, seconds, say=said.append)

    make.said = said
    return make


@pytest.mark.parametrize("method", support.METHODS)
def test_every_method_goes_on_bit_for_bit(method, made, monkeypatch):
    monkeypatch.setattr(checkpoint, "SHARE", 1e9)  # after every segment, however long it takes
    with pytest.raises(Stop):
        run(method, made(), stop)
    seen = []
    resumed = run(method, made(), lambda t, online: seen.append(t))
    same(resumed, run(method))
    if method == "static_bound":  # its models are scikit-learn's, which only a pickle could hold
        assert seen[0] == 1 and "No checkpoint can be kept" in made.said[0]
    else:
        assert seen == list(range(STOPPED, 7))  # the stop came before the fourth was kept
        assert made.said == ["continued at segment 3 of 6"]


def test_from_the_last_segment_nothing_is_trained(made, monkeypatch):
    monkeypatch.setattr(checkpoint, "SHARE", 1e9)
    whole, seen = run("ours", made()), []
    same(run("ours", made(), lambda t, online: seen.append(t)), whole)
    assert seen == [] and made.said == ["continued at segment 6 of 6"]
    made().remove()
    assert not made().file.parent.exists()


def test_what_is_no_checkpoint_of_this_run_is_left_unused(made):
    file, whole = made().file, run("pl_conf")
    with pytest.raises(Stop):
        run("pl_conf", made(), stop)
    data = file.read_bytes()
    for content in (data[: len(data) // 2], b"", b"a,b\n1,2\n"):
        file.write_bytes(content)
        same(run("pl_conf", made(seconds=1e9)), whole)
    file.write_bytes(data)
    same(run("pl_conf", made("another run", 1e9)), whole)
    state.save_state(file, {"key": "this run"})
    same(run("pl_conf", made(seconds=1e9)), whole)
    state.save_state(file, {"key": "this run", "adapting": 3})
    same(run("pl_conf", made(seconds=1e9)), whole)
    assert len(made.said) == 6
    assert all("starts anew" in text for text in made.said)


def test_a_checkpoint_is_written_when_it_is_time(made, monkeypatch):
    now, written = [0.0], []
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    kept = made(seconds=20)

    def save(path, held, modules):
        written.append(now[0])
        now[0] += 1.0  # a slow disk: one second

    monkeypatch.setattr(checkpoint.state, "save_state", save)
    for second in range(0, 200, 5):
        now[0] = max(now[0], float(second))
        kept.keep(1, dict)
    assert written == [20, 75, 130, 185]  # no sooner than after 1 / SHARE seconds


def test_a_full_disk_costs_the_checkpoint_and_not_the_run(made, monkeypatch):
    def full(*args):
        raise UserError("no space left on device")

    monkeypatch.setattr(checkpoint.state, "save_state", full)
    same(run("st", made()), run("st"))
    assert len(made.said) == 1 and "no space left" in made.said[0]
