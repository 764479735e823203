"""Errors of others: their file and line first, and what a YAML or a module lacks."""

import os
import sys

import pytest
from cli import SERIAL, TINY, call, runs

BUGGY = """
from dataclasses import dataclass

import torch

from sdsl.api import Labeler


@dataclass
class Buggy(Labeler):
    def label(self, step, learner):
        return helper(step)


def helper(step):
    return torch.zeros(3) @ torch.zeros(4)
"""
METHOD = "defaults:\n  - override /labeler: none\nmethod:\n  name: mine\n"
LINE = ("--config-dir", "lab/conf")


@pytest.fixture
def lab(here, monkeypatch):
    """A folder of somebody's own, with a component that fails."""
    for group in ("labeler", "method"):
        (here / "lab" / "conf" / group).mkdir(parents=True)
    (here / "lab" / "buggy.py").write_text(BUGGY)
    (here / "lab" / "conf" / "labeler" / "buggy.yaml").write_text("name: lab.buggy\n")
    monkeypatch.syspath_prepend(str(here))
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        monkeypatch.delitem(sys.modules, name)  # of another test
    return here / "lab"


def test_a_bug_shows_their_file_and_line_first(lab, capfd):
    assert call(*LINE, *TINY, "labeler=buggy") == 1
    err = capfd.readouterr().err
    said = err[err.index("lab/buggy.py") :].splitlines()
    assert said[0].startswith("lab/buggy.py, line 16, in helper: RuntimeError: ")
    assert "line 12, in label" in err and "return helper(step)" in err
    assert "hydra" not in err and "engine.py" not in err
    assert [run.info.status for run in runs()] == ["FAILED"]


def test_in_a_sweep_too(lab, capfd):
    assert call(*LINE, "-m", SERIAL, *TINY, "labeler=buggy,none") == 1
    last = capfd.readouterr().err.partition("FAILED")[2].splitlines()
    assert last[1].startswith("  lab/buggy.py, line 16, in helper: RuntimeError: ")


def test_a_module_that_fails_on_import(lab, capfd):
    (lab / "buggy.py").write_text("import json\n\nnumber = json.loads('{')\n")
    assert call(*LINE, *TINY, "labeler=buggy") == 1
    err = capfd.readouterr().err
    assert err.startswith("lab/buggy.py, line 3, in <module>: json.decoder.JSONDecodeError: ")


def test_a_bug_of_ours_keeps_its_traceback(here, monkeypatch):
    def fail(setup, screen, tags=None):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("sdsl.launch.job.run", fail)
    with pytest.raises(ZeroDivisionError):
        call(*TINY)


def test_the_folders_searched_are_named(lab, capfd):
    assert call(*TINY, "labeler.name=lab.nothing") == 2
    err = capfd.readouterr().err
    assert "No module named 'lab.nothing'. Is the package installed? Python looked in: " in err
    assert str(lab.parent) in err and os.path.dirname(os.__file__) + "," not in err


@pytest.mark.parametrize("more", ["", "replay:\n  name: none\n"])
def test_a_method_without_its_first_line_is_explained(lab, capfd, more):
    file = lab / "conf" / "method" / "mine.yaml"
    text = METHOD + more
    file.write_text(text if not more else text.partition("method:")[1] + "\n  name: mine\n" + more)
    words = [word for word in TINY if not word.startswith("method=")]
    assert call(*LINE, *words, "method=mine") == 2
    assert "'# @package _global_'" in capfd.readouterr().err
    file.write_text(f"# @package _global_\n{METHOD}{more}")
    assert call(*LINE, *words, "method=mine", "--cfg", "job") == 0


@pytest.mark.parametrize("flag", ["-m", "--multirun"])
def test_the_config_of_a_sweep_is_refused_with_a_reason(here, capfd, flag):
    assert call(flag, "method=st,jt", "--cfg", "job") == 2
    err = capfd.readouterr().err
    assert "--cfg shows the config of one run" in err and "Traceback" not in err
