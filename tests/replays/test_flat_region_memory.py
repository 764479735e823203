"""The paper's replay with samples of memory: off it changes no bit, on it keeps to the budget."""

import numpy as np
import support

DATA = support.blobs(rows=600, classes=2, drift=3.0, spread=0.8)
WORDS = "method=oracle_labels", "learner.pretrain.steps=50", "replay.steps=20"


def run(*words: str, seeds=(10, 11)):
    return support.run(*WORDS, *words, seeds=seeds, data=DATA).outcome


def test_off_it_draws_nothing():
    a, b = run(), run("replay.memory_rows=7")
    assert np.array_equal(a.R, b.R)


def test_lookback_and_memory_share_the_budget():
    out = run("replay.memory=0.1", "lookback.size=50")
    assert out.curves["memory_numbers"].max() <= 100 * 3
    assert out.curves["memory_numbers"].max() > 50 * 3
    assert not np.array_equal(out.R, run("lookback.size=50").R)


def test_same_bits_alone_and_fused():
    words = "replay.memory=0.1", "lookback.size=50"
    fused = run(*words, seeds=(3, 1))
    for s, seed in enumerate((3, 1)):
        assert np.array_equal(run(*words, seeds=(seed,)).R[0], fused.R[s])
