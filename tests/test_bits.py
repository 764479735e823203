"""The same config gives the same bits, however many threads a process may use."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import support
import torch

METHODS = ("ours", "record", "pl_conf", "dann", "eaml", "jt", "scargc", "tracker")


def fingerprints() -> dict[str, str]:
    """Method -> SHA-256 of its R."""
    data, found = support.blobs(classes=3, d=5, drift=1.0), {}
    for method in METHODS:
        R = support.run_config(support.brief(support.composed(f"method={method}")), data).outcome.R
        found[method] = hashlib.sha256(R.tobytes()).hexdigest()
    return found


@pytest.fixture(scope="module")
def once() -> dict[str, str]:
    return fingerprints()


def test_torch_threads_set_before(once):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert fingerprints() == once
    finally:
        torch.set_num_threads(before)
    assert len(set(once.values())) == len(METHODS)  # they do tell methods apart


def test_in_another_process_with_threads_in_the_environment(once):
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    path = f"{support.ROOT}{os.pathsep}{Path(__file__).parent}"
    environment = os.environ | dict.fromkeys(names, "2") | {"PYTHONPATH": path}
    line = [sys.executable, __file__]
    done = subprocess.run(line, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == once


if __name__ == "__main__":
    print(json.dumps(fingerprints()))
