"""The bits of R, method by method: a change that is meant to leave results alone leaves them alone.

Three streams to T=10 with two seeds, and the default run in full. Bits may depend on the CPU and on
library versions, so the list counts where both are those it was made with. A change that is worth
new results makes it anew: PYTHONPATH=tests python tests/test_fingerprints.py
"""

import hashlib
import json
import sys

import pytest
import support

from sdsl import experiment
from sdsl.config import composed, setup
from sdsl.tracking import provenance

FILE = support.ROOT / "tests" / "fingerprints.json"
RUNS = [f"{m} {stream}" for m in support.METHODS for stream in ("satimage", "spam", "ug_2c_2d")]
SAVED = json.loads(FILE.read_text())


@pytest.fixture(autouse=True)
def same_machine(request):
    now = machine()
    other = {k: v for k, v in now.items() if SAVED["machine"].get(k) != v}
    if other and "run" in request.fixturenames:
        pytest.skip(f"made on another machine or with other versions: {other}")


def machine() -> dict[str, str]:
    """The CPU and the versions that numbers depend on."""
    return {name: provenance.tags()[name] for name in ("cpu", "python", *provenance.LIBRARIES[:5])}


def sha256(run: str) -> list[str]:
    """Of R, seed by seed."""
    words, seeds = ["data.root=null"], (0,)
    if run != "default":
        method, dataset = run.split()
        words += [f"method={method}", f"dataset={dataset}", "stream.max_segments=10"]
        seeds = (0, 1)
    made = setup(composed(*words))
    table = experiment.load(made)
    found = [experiment.run(made, seed, table).outcome.R for seed in seeds]
    return [hashlib.sha256(R.tobytes()).hexdigest() for R in found]


def test_every_method_is_in_the_list():
    assert set(SAVED["sha256"]) == {"default", *RUNS}
    bits = {bit for both in SAVED["sha256"].values() for bit in both}
    assert len(bits) > len(RUNS)  # they tell methods, streams and seeds apart


@pytest.mark.slow
@pytest.mark.parametrize("run", ["default", *RUNS])
def test_R_is_the_same(run):
    assert sha256(run) == SAVED["sha256"][run]


if __name__ == "__main__":
    found = {}
    for run in ["default", *RUNS]:
        found[run] = sha256(run)
        print(run, file=sys.stderr, flush=True)
    FILE.write_text(json.dumps({"machine": machine(), "sha256": found}, indent=1) + "\n")
