"""Same config, same bits: SHA-256 of R, however and wherever it was computed on this machine."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support import blobs, brief, config, small, trial

HERE = Path(__file__)
METHODS = ("ours", "record", "pl_conf", "dann", "eaml", "jt", "scargc")


def fingerprints(seeds=(0, 1), methods=METHODS) -> dict[str, str]:
    """'method seed' -> SHA-256 of its R."""
    found = {}
    for method in methods:
        cfg = brief(config(f"method={method}")) | {"dataset": small()}
        R = trial(cfg, seeds, blobs(classes=3, d=5, drift=1.0)).outcome.R
        for s, seed in enumerate(seeds):
            found[f"{method} {seed}"] = hashlib.sha256(R[s].tobytes()).hexdigest()
    return found


@pytest.fixture(scope="module")
def once() -> dict[str, str]:
    return fingerprints()


def test_twice_in_a_process(once):
    assert fingerprints() == once
    assert len(set(once.values())) > len(METHODS)  # they do tell methods and seeds apart


def test_fused_or_not(once):
    assert fingerprints([0]) | fingerprints([1]) == once
    several = fingerprints([7, 1, 5, 0])
    assert {name: several[name] for name in once} == once


def test_torch_threads_set_before(once):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert fingerprints() == once
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_in_another_process_with_threads_in_the_environment(once, threads):
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, threads)
    environment["PYTHONPATH"] = f"{HERE.parents[1]}{os.pathsep}{HERE.parent}"
    line = [sys.executable, str(HERE)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == once


if __name__ == "__main__":
    print(json.dumps(fingerprints()))
