"""A run that was stopped goes on from its checkpoint, with the bits of one that was not."""

import made_up
import numpy as np
import pytest
from made_up import Act, Predict, T, Wander
from support import left_behind

from sdsl.core import state
from sdsl.core.state import Checkpoint, save_state

STOPPED = 4  # the segment after which the run is stopped


def stop(t, online):
    if t == STOPPED:
        raise KeyboardInterrupt


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Makes checkpoints of one file that are written after every segment; `said` by them."""
    monkeypatch.setattr(state, "SHARE", 1e9)
    said = []

    def make(key="this run", seconds=0.0):
        return Checkpoint(tmp_path / "kept" / "a.sdsl", key, seconds, say=said.append)

    make.said = said
    return make


@pytest.mark.parametrize("replay", [Wander(1), Act()], ids=["moving", "standing still"])
@pytest.mark.parametrize("every", [1, 3])
def test_a_stopped_run_goes_on_bit_for_bit(replay, every, made):
    for seen in (range(STOPPED, T + 1), []):  # the stop came before segment 4 was kept; at the end
        steps = []
        if seen:
            with pytest.raises(KeyboardInterrupt):
                made_up.run(None, replay, every=every, checkpoint=made(), on_step=stop)
        watch = {"checkpoint": made(), "on_step": lambda t, online, to=steps: to.append(t)}
        again = made_up.run(None, replay, every=every, **watch)
        assert left_behind(again) == left_behind(made_up.run(None, replay, every=every))
        assert steps == list(seen)
    assert made.said == ["continued at segment 3 of 6", "continued at segment 6 of 6"]


def test_a_file_that_is_no_checkpoint_of_this_run_is_not_used_and_not_touched(made):
    whole = left_behind(made_up.run())
    made_up.run(checkpoint=made())
    file = made().file
    data = file.read_bytes()

    def check(key="this run"):
        before = file.read_bytes()
        assert left_behind(made_up.run(checkpoint=made(key, 1e9))) == whole
        assert file.read_bytes() == before
        assert made.said.pop().startswith("A checkpoint is left unused, and the run starts anew. ")

    for content in (data[: len(data) // 2], b"", b"a,b\n1,2\n"):
        file.write_bytes(content)
        check()
    for adapting in ({}, 3, {"t": "1"}, {"t": 0}, {"t": T + 1}):
        save_state(file, {"key": "this run", "adapting": adapting})
        check()
    file.write_bytes(data)
    check("another run")
    assert not made.said


def test_a_checkpoint_is_written_when_it_is_time(tmp_path, monkeypatch):
    now, written = [0.0], []
    monkeypatch.setattr(state.time, "monotonic", lambda: now[0])
    kept = Checkpoint(tmp_path / "a", "key", seconds=20)

    def save(path, data):
        written.append(now[0])
        now[0] += 1.0  # a slow disk: one second

    monkeypatch.setattr(state, "save_state", save)
    for second in range(0, 200, 5):
        now[0] = max(now[0], float(second))
        kept.keep(dict)
    assert written == [20, 75, 130, 185]  # no sooner than after 1 / SHARE seconds


def test_a_model_that_cannot_be_kept_costs_the_checkpoint_and_not_the_run(made):
    class Odd(Predict):
        def state(self):
            return {"generator": np.random.default_rng(0)}

    assert left_behind(made_up.run(Odd(), checkpoint=made())) == left_behind(made_up.run())
    assert len(made.said) == 1 and "No checkpoint can be kept" in made.said[0]
    assert "state['adapting']['labeler']['generator'] is a Generator" in made.said[0]
