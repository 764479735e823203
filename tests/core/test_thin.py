"""A thinned R: the same cells and metrics as a dense one, in memory linear in T."""

from pathlib import Path

import numpy as np
import pytest
import support
from cli import TINY, artifact, call, runs

from sdsl import experiment, verify
from sdsl.core import evaluation, metrics
from sdsl.core.checkpoint import Checkpoint
from sdsl.core.thin import CELL, Thin, dense, of_replica, picture
from sdsl.report.__main__ import main as report

DATA = support.blobs(rows=60 * 13, classes=3, drift=2.0, spread=1.0)  # gold and twelve segments
EXACT = ("acc_online", "acc_final", "forgetting", "bwt", "fwt", "prequential")


def run(*words: str, kept=None, on_step=lambda t, online: None):
    cfg = support.brief(support.config("method=pl_conf", *words))
    cfg |= {"dataset": support.small(segment_size=60, test_size=20)}
    setup = experiment.setup(cfg)
    stream = experiment.cut(setup, DATA, (0, 1))
    return experiment.run_on(setup, stream, on_step, kept).outcome


@pytest.fixture
def long(monkeypatch):
    """Twelve segments are many."""
    monkeypatch.setattr(evaluation, "LONG", 5)
    monkeypatch.setattr(evaluation, "MOST", 3)


@pytest.mark.parametrize("words", [("eval.every=3", "eval.columns=4"), ("eval.every=5",)])
def test_the_cells_of_a_thinned_R(words, monkeypatch):
    words = (*words, "eval.columns=null") if len(words) == 1 else words
    whole = run(*words).R
    assert isinstance(whole, np.ndarray)
    monkeypatch.setattr(evaluation, "LONG", 5)
    thin = run(*words).R
    assert isinstance(thin, Thin) and thin.shape == whole.shape
    for s in range(2):
        np.testing.assert_array_equal(dense(of_replica(thin, s)), whole[s, 1:])
        np.testing.assert_array_equal(thin[s].known(0)[0], whole[s, 0])
        assert metrics.summarise(thin[s]) == metrics.summarise(whole[s])
        for name, curve in metrics.curves(whole[s]).items():
            np.testing.assert_array_equal(metrics.curves(thin[s])[name], curve)


def test_by_default_a_long_stream_is_thinned_and_its_accuracies_miss_nothing(long):
    thin, whole = run().R, run("eval.every=1", "eval.columns=null").R
    assert isinstance(thin, Thin) and isinstance(whole, np.ndarray)
    for s, one in enumerate(thin):
        filled = dense(one.cells())
        known = np.isfinite(filled)
        assert np.array_equal(filled[known], whole[s, 1:][known])
        a, b = metrics.summarise(one), metrics.summarise(whole[s])
        for name in EXACT:
            assert getattr(a, name) == getattr(b, name), name
        assert a.coverage == known.mean() < 0.5 and b.coverage == 1
    assert picture(thin[0].cells()).shape == (3, 3)


def test_memory_is_linear_in_T():
    numbers = []
    for T in (10_000, 20_000):
        how = evaluation.EvalConfig("auto", "auto", False)
        grid = np.unique([*range(0, T + 1, how.step(T)), T]), np.arange(how.wide(T))
        thin = Thin(1, T, *grid)
        numbers.append(sum(a.size for a in vars(thin).values()))
    assert numbers[1] < 2 * numbers[0] and numbers[0] < 6 * 10_000


def test_a_model_that_does_not_move(long):
    still = experiment.setup(
        support.brief(support.config("method=st"))
        | {"dataset": support.small(segment_size=60, test_size=20)}
    )
    R = experiment.run(still, (0,), DATA).outcome.R
    assert isinstance(R, Thin)
    assert np.array_equal(R.diagonal[0], R.first[0]) and np.array_equal(R.first, R.last)


def test_a_thinned_run_goes_on_from_a_checkpoint(long, tmp_path):
    def stop(t, online):
        if t == 8:
            raise KeyError

    with pytest.raises(KeyError):
        run(kept=Checkpoint(tmp_path / "a", "a", 0.0), on_step=stop)
    again, whole = run(kept=Checkpoint(tmp_path / "a", "a", 0.0)).R, run().R
    assert (tmp_path / "a").exists()
    assert all(again[s].cells().tobytes() == whole[s].cells().tobytes() for s in (0, 1))


def test_the_command_says_so_and_everything_reads_it(here, monkeypatch, capfd):
    monkeypatch.setattr(evaluation, "LONG", 1)
    monkeypatch.setattr(evaluation, "MOST", 2)
    line = [w for w in TINY if "max_segments" not in w]
    assert call(*line, "stream.max_segments=6") == 0
    assert "R is thinned: every 3 steps a row of 2 of 6 columns" in capfd.readouterr().err
    done = runs()[0]
    assert done.data.tags["R_thinned"].startswith("every 3 steps")
    cells = np.load(artifact(done, "R.npy"), allow_pickle=False)
    assert cells.dtype == CELL and artifact(done, "R.csv").read_text().startswith(
        "i,j,accuracy\n1,"
    )
    assert call(*line, "stream.max_segments=6") == 0  # held, not run again
    assert len(runs()) == 1
    assert verify.verify(done.info.run_id).same
    words = ["--include-short", "--export", "exported", "--out", "page"]
    assert report(words) == 0 and Path("page").exists()
    assert report(["--from", "exported", "--out", "again"]) == 0
