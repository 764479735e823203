"""The bits before the move into rooms: R of the methods of that time (commit `made_at`).

Three streams to T=10 with two seeds, and the default run in full. Bits may depend on the CPU and on
library versions, so the list counts where both are those it was made with. Settings that have been
changed since then are set back to what they were.
"""

import hashlib
import json

import numpy as np
import pytest
import support

from sdsl import experiment
from sdsl.tracking import provenance

# Our own methods have a running scale and estimate the classes' shares now.
THEN = ("stream.scaler=frozen", "lookback.shares=equal")
SAVED = json.loads((support.ROOT / "tests" / "fingerprints.json").read_text())
RUNS = sorted({key.rpartition(" ")[0] for key in SAVED["sha256"] if key != "default"})


@pytest.fixture(autouse=True)
def same_machine():
    now = provenance.tags()
    other = {k: now[k] for k, v in SAVED["machine"].items() if now[k] != v}
    if other:
        pytest.skip(f"made on another machine or with other versions: {other}")


def sha256(R: np.ndarray) -> str:
    return hashlib.sha256(R.tobytes()).hexdigest()


def of_the_parts(*words: str) -> list[str]:
    """Settings that only some labelers and replays have."""
    config = support.config(*words)
    then = ["labeler.shares=equal"] if "shares" in config["labeler"] else []
    if "held" in config["replay"]:
        then += ["replay.held={overlap:0,agreement:0}"]
    return then


def test_every_method_is_in_the_list():
    assert len(RUNS) == 51  # 17 methods on three streams
    assert len(set(SAVED["sha256"].values())) > 80  # they tell methods, streams and seeds apart


@pytest.mark.parametrize("run", RUNS)
def test_R_is_the_same(run):
    method, dataset = run.split()
    words = f"method={method}", f"dataset={dataset}", "data.root=null", *THEN
    words = *words, "stream.max_segments=10", *of_the_parts(*words)
    R = experiment.run(experiment.setup(support.config(*words)), (0, 1)).outcome.R
    for s in (0, 1):
        assert sha256(R[s]) == SAVED["sha256"][f"{run} {s}"]


def test_the_default_run_is_the_same():
    words = "data.root=null", *THEN
    words = *words, *of_the_parts(*words)
    R = experiment.run(experiment.setup(support.config(*words)), (0,)).outcome.R
    assert sha256(R[0]) == SAVED["sha256"]["default"]
