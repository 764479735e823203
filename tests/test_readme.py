"""README is true: its commands are accepted, its example runs, what it names exists."""

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import pytest
from cli import SERIAL, TINY, call, runs

from sdsl.launch import job

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.S)


def commands(kind: str) -> list[list[str]]:
    lines = [line for found, block in BLOCKS if found == kind for line in block.splitlines()]
    return [shlex.split(part, comments=True) for line in lines for part in line.split("&&")]


def runs_of(lines: list[list[str]]) -> list[list[str]]:
    return [words[3:] for words in lines if words[:3] == ["python", "-m", "sdsl.run"]]


COMMANDS, ELSEWHERE = commands("bash"), commands("sh")  # the latter need a cluster or a server
RUNS = runs_of(COMMANDS)


def example(kind: str) -> str:
    return next(block for found, block in BLOCKS if found == kind)


@pytest.fixture
def lab(here, monkeypatch):
    """The README's own labeler, laid out as it says."""
    (here / "lab" / "conf" / "labeler").mkdir(parents=True)
    (here / "lab" / "neighbours.py").write_text(example("python"))
    (here / "lab" / "conf" / "labeler" / "neighbours.yaml").write_text(example("yaml"))
    monkeypatch.syspath_prepend(str(here))
    yield here
    sys.modules.pop("lab.neighbours", None)
    sys.modules.pop("lab", None)


def test_the_two_commands():
    assert "pip install -e . && python -m sdsl.run\n" in TEXT
    assert "pip install -e '.[test]' && python -m pytest\n" in TEXT
    assert "pip install -q -e '.[test]' && python -m pytest" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("words", RUNS, ids=" ".join)
def test_every_run_command_is_accepted(lab, monkeypatch, words):
    seen = []

    def accept(config, watch):
        from sdsl import experiment

        experiment.check(config)
        seen.append(config)
        return job.Report(config["method"]["name"], "d", "g", [], 0, "data", "own", "sqlite:///x")

    monkeypatch.setattr(job, "run", accept)
    monkeypatch.setattr("sdsl.launch.screen.summary", lambda reports: None)
    sweep = "-m" in words or any(word.startswith("+sweeps") for word in words)
    assert call(*words, *([SERIAL] if sweep else [])) == 0
    assert seen or "--cfg" in words


@pytest.mark.parametrize("words", runs_of(ELSEWHERE), ids=" ".join)
def test_every_command_for_a_cluster_is_composed(here, capfd, words):
    assert call(*words, "--cfg", "hydra", "--package", "hydra.launcher") == 0
    assert "_target_: hydra_plugins.sdsl." in capfd.readouterr().out


def test_the_labeler_example_runs(lab):
    line = [word for word in TINY if not word.startswith("method")]
    words = next(words for words in RUNS if "--config-dir" in words)
    assert call(*words, *line, "replay.steps=5") == 0
    assert runs()[0].data.tags["labeler"] == "lab.neighbours"
    assert call(*words, *line, "labeler.k=0") == 2


def test_modules_and_files_it_names_exist():
    for words in COMMANDS:
        if words[:2] == ["python", "-m"]:
            assert importlib.util.find_spec(words[2]), words
    for path in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / path).exists(), path
