"""Killed anywhere, a deployment goes on as if it had never stopped; nothing is labelled twice."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import support

from sdsl.estimator import StreamClassifier
from sdsl.label import main
from sdsl.use import curves

WORDS = ("gold=gold.csv", "files=in", "label=y", "method=pl_conf", "segment_size=50")
SHORT = ("learner.pretrain.steps=40", "replay.fit.steps=20")


@pytest.fixture
def folder(empty_folder, monkeypatch):
    """Five files of 30 rows, segments of 50: a segment may end within a file."""
    monkeypatch.setattr(curves.Curves, "log", lambda self: None)  # MLflow has tests of its own
    data = support.blobs(rows=210, classes=3, d=3, drift=0.5)
    table = pd.DataFrame(data.X, columns=list("abc")).assign(y=data.y)
    table[:60].to_csv("gold.csv", index=False)
    (empty_folder / "in").mkdir()
    for i in range(5):
        table[60 + 30 * i : 90 + 30 * i].drop(columns="y").to_csv(f"in/{i}.csv", index=False)
    main([*WORDS, *SHORT, "out=whole"])
    return empty_folder


def in_a_child(out: str, die) -> bool:
    """Run the command in a process of its own, which `die` may kill; whether it got to the end."""
    child = os.fork()
    if not child:
        try:
            die()
            main([*WORDS, *SHORT, f"out={out}"])
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or os.WEXITSTATUS(status) == 0
    return not killed


def at_write(number: int):
    """Dies at the n-th call that makes something last: of fsync and of replace."""

    def die():
        left = [number]

        def counted(real):
            def call(*args):
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args)

            return call

        os.fsync, os.replace = counted(os.fsync), counted(os.replace)

    return die


def after(seconds: float):
    """Dies when the time is up."""

    def die():
        if not os.fork():
            time.sleep(seconds)
            os.kill(os.getppid(), signal.SIGKILL)
            os._exit(0)

    return die


def check(out: str) -> None:
    """Everything is as the run left it that was never killed."""
    whole = {p.name: p.read_bytes() for p in Path("whole").glob("*.csv")}
    mine = {p.name: p.read_bytes() for p in Path(out).glob("*.csv")}
    assert len(whole) == 5 and mine == whole
    a, b = (StreamClassifier.load(f"{f}/.sdsl/state.sdsl") for f in ("whole", out))
    drop = ["seconds"]
    assert a.history_.drop(columns=drop).equals(b.history_.drop(columns=drop))
    assert not list(Path(out).rglob("*.part"))


@pytest.mark.parametrize("seed", range(3))
def test_killed_while_writing(folder, seed):
    rng, runs = np.random.default_rng(seed), 0
    while not in_a_child("out", at_write(int(rng.integers(1, 25)))):
        runs += 1
        assert runs < 60
    check("out")


def test_killed_at_every_write_of_the_first_segment(folder):
    for number in range(1, 19):
        out = f"out{number}"
        assert not in_a_child(out, at_write(number))
        assert in_a_child(out, lambda: None)
        check(out)


def test_killed_at_any_time(folder):
    rng, killed = np.random.default_rng(0), 0
    for _ in range(8):
        killed += not in_a_child("out", after(rng.uniform(0.02, 0.6)))
    assert in_a_child("out", lambda: None)
    check("out")


def test_files_that_come_between_do_not_change_a_segment_that_was_begun(folder):
    """Killed after the outputs are written and before the state; then an earlier name arrives."""
    assert not in_a_child("out", at_write(12))  # state 3, plan 3, first output 3, second output...
    pd.read_csv("in/4.csv").to_csv("in/00.csv", index=False)
    assert in_a_child("out", lambda: None)
    whole, mine = Path("whole/0.csv").read_bytes(), Path("out/0.csv").read_bytes()
    assert mine == whole
