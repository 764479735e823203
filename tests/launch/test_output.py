"""Output that cannot be written: a sentence, and nothing lost that was computed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli import ROOT, TINY, call, start, status

from sdsl.cli import COMMANDS, PACKAGES
from sdsl.core import room

NAMES = [name for name in COMMANDS if name != "completion"]
LINE = f"{sys.executable} -m sdsl.run {' '.join(TINY)}"
FINISHED = ["FINISHED"]


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"], env=env, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", [*NAMES, "cli"])
def test_help_through_head(name):
    done = shell(f"{sys.executable} -m sdsl.{name} --help | head -1")
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == "" and done.returncode == 0
    assert name == "cli" or (ROOT / "sdsl" / name).exists() == (name in PACKAGES)


def test_a_full_disk_costs_the_text_and_not_the_run(here):
    done = shell(f"{LINE} >/dev/full")
    assert done.returncode == 2 and "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr and list(status().values()) == FINISHED
    assert shell(f"{LINE} seed=1 2>/dev/full").returncode == 0  # nobody can be told
    assert list(status().values()) == 2 * FINISHED


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams(here, closed):
    done = shell(f"{LINE} {closed}")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert list(status().values()) == FINISHED


def test_an_ascii_terminal(here):
    done = shell(f"{LINE} seed=0,1", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and " +- " in done.stdout
    assert set(status().values()) == {"FINISHED"}


def test_a_folder_that_cannot_be_written():
    if not Path("/sys").is_dir():
        pytest.skip("there is no /sys here, which even root cannot write to")
    done = shell(f"cd /sys && {LINE}")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr and "folder where you may write" in done.stderr


def test_a_home_that_cannot_be_written(here):
    done = shell(LINE, HOME="/proc/nowhere", XDG_CACHE_HOME="", MPLCONFIGDIR="")
    assert "Traceback" not in done.stderr
    assert done.returncode == 2 and "Set data.cache" in done.stderr
    done = shell(f"{LINE} data.cache=cache", HOME="/proc/nowhere", XDG_CACHE_HOME="")
    assert done.returncode == 0 and list(status().values()) == FINISHED


def test_what_cannot_be_written_is_known_before_training(here, capfd):
    Path("outputs").touch()
    process = start(*TINY)
    _, said = process.communicate()
    assert process.returncode == 2 and "outputs" in said and "Traceback" not in said


def test_a_name_that_is_no_formula(here):
    assert call(*TINY, r"method.name='$\foo$'") == 0
    assert list(status().values()) == FINISHED and r"$\foo$" in next(iter(status()))


def test_a_network_that_does_not_fit_is_refused_before_anything_is_recorded(here, capfd):
    assert call(*TINY, "learner.hidden=[100000,100000]") == 2
    assert "learner.hidden=[100000, 100000]: with 20 features" in capfd.readouterr().err
    assert status() == {}
    assert room.weights((20, 100, 2)) == 21 * 100 + 101 * 2
