"""Kills at random, but seeded, times: the short version of `python -m tests.chaos`."""

import subprocess
import sys

import pytest
from cli import ROOT

NAMES = range(7)
CODE = """
import sys
from tests.chaos.__main__ import one
from tests.chaos.scenarios import ALL
name = list(ALL)[int(sys.argv[1])]
sys.exit(not all([one(number, name) for number in range(ALL[name][1])]))
"""


@pytest.mark.parametrize("index", NAMES)
def test_nothing_is_lost(tmp_path, monkeypatch, index):
    """In a fresh process, from which the commands are forked."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    line = [sys.executable, "-c", CODE, str(index)]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_table_shows_every_scenario_without_a_loss():
    table = (ROOT / "outputs" / "paper" / "chaos.md").read_text(encoding="utf-8")
    assert table in (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) == len(NAMES)
    assert all(int(tries) > 0 and int(losses) == 0 for _, tries, losses, _ in rows)
