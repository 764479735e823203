"""Killed anywhere, a deployment goes on as if it had never stopped; nothing is labelled twice."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import support
from label_command import call

from sdsl.estimator import StreamClassifier
from sdsl.use.screen import Screen

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
    for i, rows in enumerate(np.split(table[60:].drop(columns="y"), [20, 40, 60, 180, 210, 250])):
        rows.to_csv(f"in/{i}.csv", index=False)
    assert call(*WORDS, "out=whole") == 0
    return empty_folder


def in_a_child(out: str, die: Callable[[], None] = lambda: None) -> bool:
    """Run the command in a process of its own, which `die` may kill; whether it got to the end."""
    child = os.fork()
    if not child:
        try:
            die()
            os._exit(call(*WORDS, f"out={out}"))
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or os.WEXITSTATUS(status) == 0
    return not killed


def at_write(number: int) -> Callable[[], None]:
    """Dies at the n-th call that makes something last: of fsync and of replace."""

    def die() -> None:
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


def at_step(number: int) -> Callable[[], None]:
    """Dies while the model learns from the n-th segment of this process."""

    def die() -> None:
        from sdsl.core.lookback import Lookback

        left, real = [number], Lookback.keep

        def keep(self, *args):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(self, *args)

        Lookback.keep = keep

    return die


def check(out: str) -> None:
    """Everything is as the run left it that was never killed."""
    whole = {p.name: p.read_bytes() for p in Path("whole").glob("*.csv")}
    assert len(whole) == 7 and {p.name: p.read_bytes() for p in Path(out).glob("*.csv")} == whole
    a, b = (StreamClassifier.load(f"{f}/.sdsl/state.sdsl").history_ for f in ("whole", out))
    assert a.drop(columns="seconds").equals(b.drop(columns="seconds"))
    assert not [
        p for p in Path(out, ".sdsl").rglob("*") if p.name not in ("state.sdsl", "ready", "lock")
    ]


@pytest.mark.parametrize("seed", range(3))
def test_killed_again_and_again(folder, seed):
    rng, runs = np.random.default_rng(seed), 0
    while not in_a_child("out", (at_write, at_step)[runs % 2](int(rng.integers(1, 15)))):
        runs += 1
        assert runs < 60
    check("out")


def test_killed_at_every_write_of_the_first_files(folder):
    for number in range(1, 25):
        assert not in_a_child(f"out{number}", at_write(number))
        assert in_a_child(f"out{number}")
        check(f"out{number}")


def test_no_label_is_published_before_the_state_counts_it(folder):
    """Killed between a copy that is ready and the state; then an earlier name arrives."""
    for number in range(1, 25):
        out = f"out{number}"
        in_a_child(out, at_write(number))
        seen = {p.name: p.read_bytes() for p in Path(out).glob("*.csv")}
        pd.read_csv("in/4.csv").to_csv("in/00.csv", index=False)
        assert in_a_child(out)
        os.remove("in/00.csv")
        assert all(Path(out, name).read_bytes() == data for name, data in seen.items())
        assert len(list(Path(out).glob("*.csv"))) == 8
