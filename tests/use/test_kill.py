"""Killed anywhere, a deployment goes on as if it had never stopped; nothing is labelled twice."""

import itertools
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import support
from label_command import call

from sdsl.estimator import StreamClassifier
from sdsl.label import Screen

pytestmark = pytest.mark.slow
WORDS = ("label=y", "segment_size=50", "learner.pretrain.steps=40", "replay.fit.steps=20")


@pytest.fixture
def folder(empty_folder, monkeypatch) -> Path:
    """Seven files, joined and cut into segments of about 50 rows; `whole` is labelled at once."""
    monkeypatch.setattr(Screen, "log", lambda *_: None)  # MLflow has tests of its own
    data = support.blobs(rows=360, classes=3, d=3, drift=0.5)
    table = pd.DataFrame(data.X, columns=list("abc")).assign(y=data.y)
    table[:60].to_csv("gold.csv", index=False)
    (empty_folder / "in").mkdir()
    for i, (a, b) in enumerate(itertools.pairwise([60, 80, 100, 120, 240, 270, 310, 360])):
        table[a:b].drop(columns="y").to_csv(f"in/{i}.csv", index=False)
    assert call(*WORDS, "out=whole") == 0
    return empty_folder


def in_a_child(out: str, dies_at: int = 0) -> bool:
    """Run the command in a process of its own; whether it got to the end.

    It dies at the n-th call that makes something last: of fsync and of replace.
    """
    child = os.fork()
    if not child:
        calls = itertools.count(1)

        def counted(real: Callable[..., None]) -> Callable[..., None]:
            def counting(*args):
                if next(calls) == dies_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args)

            return counting

        os.fsync, os.replace = counted(os.fsync), counted(os.replace)
        try:
            os._exit(call(*WORDS, f"out={out}"))
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or os.WEXITSTATUS(status) == 0
    return not killed


def check(out: str) -> None:
    """Everything is as the run left it that was never killed."""
    whole = {p.name: p.read_bytes() for p in Path("whole").glob("*.csv")}
    assert len(whole) == 7 and {p.name: p.read_bytes() for p in Path(out).glob("*.csv")} == whole
    a, b = (StreamClassifier.load(f"{f}/.sdsl/state.sdsl").history_ for f in ("whole", out))
    assert a.drop(columns="seconds").equals(b.drop(columns="seconds"))
    assert {p.name for p in Path(out, ".sdsl").rglob("*")} <= {"state.sdsl", "ready", "lock"}


def test_killed_again_and_again(folder):
    rng, runs = np.random.default_rng(0), 0
    while not in_a_child("out", int(rng.integers(1, 15))):
        runs += 1
        assert runs < 60
    check("out")


def test_killed_at_every_write_of_the_first_files(folder):
    """No label is published before the state counts it: then an earlier name would change it."""
    for number in range(1, 25):
        out, late = f"out{number}", f"late{number}"
        assert not in_a_child(out, number)
        shutil.copytree(out, late)
        assert in_a_child(out)
        check(out)
        seen = {p.name: p.read_bytes() for p in Path(late).glob("*.csv")}
        pd.read_csv("in/4.csv")[::-1].to_csv("in/00.csv", index=False)  # no copy of another
        assert in_a_child(late)
        os.remove("in/00.csv")
        assert all(Path(late, name).read_bytes() == data for name, data in seen.items())
        assert len(list(Path(late).glob("*.csv"))) == 8
