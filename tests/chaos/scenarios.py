"""What can happen to commands. Each try ends well, or says what was lost."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import sdsl.label

from .commands import SERIAL, TINY, Command, finished, query, running

LIMIT = 5.0  # seconds from Ctrl-C to the end
SWEEP = ("-m", "hydra.launcher.n_jobs=2", *TINY[:3], "learner.pretrain.steps=5,6", "seed=0,1")
CHECKPOINTS = ("method=jt", "dataset=twonorm", "stream.max_segments=12", "checkpoint.seconds=0")
LABEL = ("gold=gold.csv", "files=in", "label=y", "method=pl_conf", "segment_size=50", "out=out")
SHORT = ("learner.pretrain.steps=40", "replay.fit.steps=20")


@contextmanager
def folder() -> Iterator[Path]:
    before = os.getcwd()
    with TemporaryDirectory(prefix="sdsl-chaos-", ignore_cleanup_errors=True) as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def kill_at_creation(rng: np.random.Generator) -> None:
    """An empty folder; killed somewhere in the first seconds; the same command goes on."""
    with folder():
        command = Command(*TINY)
        command.wait(rng.uniform(0, 4))
        check(Command(*TINY).wait(), runs=1)


def eight_first_starts(rng: np.random.Generator) -> None:
    """Eight commands at once in an empty folder, each with a seed of its own."""
    with folder():
        lines = [(*TINY, f"seed={seed}") for seed in range(8)]
        check(*at_once(lines), runs=8)


def at_once(lines: list[tuple[str, ...]]) -> list[int | None]:
    """The exit statuses of commands that begin at the same time."""
    return [command.wait() for command in [Command(*line) for line in lines]]


def eight_identical_sweeps(rng: np.random.Generator) -> None:
    """The same sweep eight times at once: each run is made once."""
    with folder():
        line = (*SERIAL, *TINY[:3], "learner.pretrain.steps=5,6", "seed=0,1", "fuse=false")
        check(*at_once([line] * 8), runs=4)


def kills_in_a_sweep(rng: np.random.Generator) -> None:
    """A sweep on two workers: its process or its whole group is killed, three times."""
    with folder():
        for _ in range(3):
            command = Command(*SWEEP)
            while not command.ended() and not running():
                time.sleep(0.02)
            time.sleep(rng.uniform(0, 1))
            command.signal(signal.SIGKILL, group=bool(rng.integers(2)))
            command.wait()
        check(Command(*SWEEP).wait(), runs=4)


def kills_in_a_run_with_checkpoints(rng: np.random.Generator) -> None:
    """A run killed until it is through has the R of a run that nobody disturbed."""
    with folder():
        assert Command(*CHECKPOINTS, "checkpoint.seconds=null").wait() == 0
        calm = finished()
    with folder():
        for _ in range(4):
            command = Command(*CHECKPOINTS)
            command.wait(rng.uniform(1, 6))
        check(Command(*CHECKPOINTS).wait(), runs=1)
        assert finished() == calm, "another R"


def kills_in_labelling(rng: np.random.Generator) -> None:
    """Files are labelled as if nobody had killed the command."""
    with folder():
        y = rng.integers(3, size=210)
        X = rng.normal(size=(210, 3)) + 4 * np.eye(3)[y] + np.linspace(0, 0.5, 210)[:, None]
        table = pd.DataFrame(X, columns=list("abc")).assign(y=y)
        table[:60].to_csv("gold.csv", index=False)
        Path("in").mkdir()
        for i in range(5):
            part = table[60 + 30 * i : 90 + 30 * i].drop(columns="y")
            part.to_csv(f"in/{i}.csv", index=False)
        line = (*LABEL, *SHORT)
        assert Command(*LABEL[:-1], "out=calm", *SHORT, module=sdsl.label).wait() == 0
        for _ in range(4):
            Command(*line, module=sdsl.label).wait(rng.uniform(0, 3))
        assert Command(*line, module=sdsl.label).wait() == 0, Path("log.txt").read_text()[-2000:]
        calm, mine = (
            {p.name: p.read_bytes() for p in Path(name).glob("*.csv")} for name in ("calm", "out")
        )
        assert len(calm) == 5 and mine == calm, "other labels"


def ctrl_c(rng: np.random.Generator) -> None:
    """Once or twice, in a run or in a sweep: over within LIMIT, and nothing says RUNNING."""
    sweep = ("-m", "hydra.launcher.n_jobs=2", "dataset=twonorm,ug_2c_2d")
    words = sweep if rng.integers(2) else ("dataset=twonorm",)
    with folder():
        command = Command(*words, "method=jt", "replay.fit.steps=100000")
        if rng.integers(4):  # in most tries, when there is a run
            while not command.ended() and not running():
                time.sleep(0.02)
        time.sleep(rng.uniform(0, 1))
        stopped = time.monotonic()
        for _ in range(1 + int(rng.integers(2))):
            command.signal(signal.SIGINT)
            time.sleep(rng.uniform(0, 0.4))
        code = command.wait(max(0.0, stopped + LIMIT - time.monotonic()))
        assert code is not None, f"still there after {LIMIT} seconds"
        assert code in (130, -signal.SIGINT), f"exit status {code}"
        assert not running(), "a run stays RUNNING"


def check(*codes: int | None, runs: int) -> None:
    assert set(codes) == {0}, f"exit status {codes}: {Path('log.txt').read_text()[-2000:]}"
    assert len(finished()) == runs, f"{len(finished())} runs instead of {runs}"
    assert not running(), "a run stays RUNNING"
    assert query("pragma integrity_check") == [("ok",)]


# name -> what is tried, how often in the short version and in the long one
ALL: dict[str, tuple[Callable[[np.random.Generator], None], int, int]] = {
    "killed in the first seconds of an empty folder": (kill_at_creation, 3, 100),
    "eight first starts at once": (eight_first_starts, 1, 10),
    "eight identical sweeps at once": (eight_identical_sweeps, 1, 10),
    "a sweep killed three times": (kills_in_a_sweep, 1, 10),
    "a run with checkpoints killed four times": (kills_in_a_run_with_checkpoints, 1, 10),
    "labelling killed four times": (kills_in_labelling, 1, 10),
    "Ctrl-C once or twice": (ctrl_c, 3, 50),
}
