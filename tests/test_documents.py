"""The documents can be used: every command is accepted or run, and every example runs."""

import argparse
import importlib
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import support
from cli import SERIAL, call, runs
from documents import CONF, DOCUMENTS, README, Document
from mlflow import MlflowClient

from sdsl import label
from sdsl.bench import __main__ as bench
from sdsl.config.naming import Names
from sdsl.launch import job
from sdsl.launch.types import JobReport
from sdsl.search.variants import FAMILIES
from sdsl.tracking.address import store_uri
from sdsl.tracking.records import Entry

PROJECT = tomllib.loads((support.ROOT / "pyproject.toml").read_text())["project"]
every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.name)
SHORT = ("stream.max_segments=2", "learner.pretrain.steps=5")  # what makes a command cheap


def once(kind: str) -> dict[tuple[str, ...], Document]:
    """command -> the first document that has it."""
    pairs = [(words, one) for one in reversed(DOCUMENTS) for words in one.commands(kind)]
    return dict(pairs)


def runs_of(commands: dict[tuple[str, ...], Document]) -> list[tuple[str, ...]]:
    return [words for words in commands if words[:3] == ("python", "-m", "sdsl.run")]


COMMANDS, ELSEWHERE = once("bash"), once("sh")  # the latter need a cluster or a server
RUNS = runs_of(COMMANDS)
RECIPES = [words for words in RUNS if "--config-dir" in words]
LABEL = [words for words in COMMANDS if words[:3] == ("python", "-m", "sdsl.label")]
OTHERS = [words for words in COMMANDS if words not in (*RUNS, *LABEL)]
SDSL = [words for words in OTHERS if words[:2] == ("python", "-m") and words[2].startswith("sdsl")]
PYTHON = [words for words in OTHERS if words[:2] == ("python", "-m") and words not in SDSL]
PIP = [words for words in OTHERS if words[0] == "pip"]
TOOLS = [words for words in OTHERS if words[0] not in ("pip", "python")]


def line(words: tuple[str, ...]) -> str:
    return " ".join(words)


@pytest.fixture
def lay_out(here, monkeypatch):
    """Writes a document's files into an empty folder, and runs its other Python blocks there."""
    monkeypatch.syspath_prepend(str(here))

    def write(one: Document) -> Path:
        for block in one.blocks():
            if block.file:
                file = here / block.file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            elif block.kind == "python":
                exec(compile(block.text, one.name, "exec"), {"__name__": "example"})
        importlib.invalidate_caches()
        return here

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        del sys.modules[name]


def test_the_two_commands():
    assert "pip install -e . && python -m sdsl.run\n" in README.text
    assert "pip install -e '.[test]' && python -m pytest\n" in README.text
    assert "pip install -q -e '.[test]' && python -m pytest" in (
        support.ROOT / ".ci" / "run"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [words for words in RUNS if words not in RECIPES], ids=line)
def test_every_run_command_is_accepted(here, monkeypatch, words):
    """Composed, checked and built as a job would be; only the run itself is left out."""
    accepted = []

    def accept(setup, screen, tags=None):
        accepted.append(setup)
        entry = Entry(0, "", {"acc_online": 0.0, "acc_final": 0.0, "lasting_swap": 0.0})
        names, uri = Names(setup.name, "d", ""), store_uri(None)
        return JobReport(names, "", "", [entry], 1, "data", "own", False, uri, "1", [])

    monkeypatch.setattr(job, "run", accept)
    sweep = "-m" in words[3:] or any(word.startswith("+sweeps") for word in words)
    assert call(*words[3:], *([SERIAL] if sweep else [])) == 0
    assert accepted or {"--cfg", "--help"} & set(words)


@pytest.mark.parametrize("words", runs_of(ELSEWHERE), ids=line)
def test_every_command_for_a_cluster_is_composed(here, capfd, words):
    assert call(*words[3:], "--cfg", "hydra", "--package", "hydra.launcher") == 0
    assert "_target_: hydra_plugins.sdsl." in capfd.readouterr().out


def command(name: str) -> ModuleType:
    """The module that `python -m name` runs."""
    package = importlib.util.find_spec(name).submodule_search_locations
    return importlib.import_module(f"{name}.__main__" if package else name)


@pytest.mark.parametrize("name", ("report", "datasets", "bench", "search", "verify"))
def test_every_command_helps(monkeypatch, capsys, name):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as stop:
        command(f"sdsl.{name}").main()
    assert stop.value.code == 0
    assert f"usage: python -m sdsl.{name}" in capsys.readouterr().out


@pytest.mark.parametrize("words", LABEL, ids=line)
def test_the_label_command_labels(here, words):
    """gold=week1.csv 'files=incoming/*.parquet' label=class out=labelled/"""
    rng = np.random.default_rng(0)
    (here / "incoming").mkdir()
    for day in ("monday", "tuesday"):
        kind = rng.integers(2, size=120)
        frame = pd.DataFrame({"a": rng.normal(6 * kind), "b": rng.normal(size=120)})
        frame.to_parquet(here / "incoming" / f"{day}.parquet")
        frame.assign(**{"class": np.where(kind, "yes", "no")}).to_csv("week1.csv", index=False)
    label.main(words[3:])
    for day in ("monday", "tuesday"):
        labelled = pd.read_parquet(here / "labelled" / f"{day}.parquet")
        said = np.where(labelled["a"] > 3, "yes", "no")
        assert (labelled["label"] == said).mean() > 0.95
        assert labelled["confidence"].between(0, 1).all()


class Accepted(Exception):
    """Carries what a command understood of its words."""


@pytest.mark.parametrize("words", SDSL, ids=line)
def test_every_other_command_is_accepted(here, monkeypatch, words):
    parse = argparse.ArgumentParser.parse_args

    def stop_after(*args):
        raise Accepted(parse(*args))

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop_after)
    monkeypatch.setattr(sys, "argv", list(words[2:]))
    with pytest.raises(Accepted) as accepted:
        command(words[2]).main()
    understood = vars(accepted.value.args[0])
    assert set(understood.get("parts", ())) <= {*bench.PARTS, *bench.ALSO}
    asked = {word for word in understood.get("variants", ()) if "=" not in word}
    assert asked <= {name for family in FAMILIES.values() for name in family.variants}


@pytest.mark.parametrize("words", PIP, ids=line)
def test_what_pip_installs_exists(words):
    assert words[:3] == ("pip", "install", "-e")
    extra = re.fullmatch(r"\.(?:\[(\w+)\])?", words[3])
    assert extra[1] is None or extra[1] in PROJECT["optional-dependencies"]


@pytest.mark.parametrize("words", PYTHON, ids=line)
def test_modules_and_folders_of_a_command_exist(words):
    assert importlib.util.find_spec(words[2])
    assert all((support.ROOT / word).exists() for word in words[3:] if "/" in word)


@pytest.mark.parametrize("words", TOOLS, ids=line)
def test_tools_know_their_commands(words):
    program = Path(sys.executable).with_name(words[0])
    if not program.exists():
        pytest.skip(f"{words[0]} is not installed: pip install -e '.[test]'")
    asked = subprocess.run([program, *words[1:], "--help"], capture_output=True, timeout=120)
    assert asked.returncode == 0, asked.stderr


@every_document
def test_modules_named_in_a_text_exist(document):
    for module in re.findall(r"python -m ([\w.]+)", document.text):
        assert importlib.util.find_spec(module), module


@every_document
def test_python_blocks_run(lay_out, document):
    if not document.blocks("python"):
        return
    folder = lay_out(document)
    for block in document.blocks("python"):
        if block.file:
            importlib.import_module(block.file.removesuffix(".py").replace("/", "."))
            assert (folder / block.file).exists()


@pytest.mark.parametrize("words", RECIPES, ids=line)
def test_every_recipe_runs(lay_out, words):
    lay_out(COMMANDS[words])
    more = () if any(word.startswith("dataset=") for word in words) else ("dataset=twonorm",)
    serial = (SERIAL,) if "-m" in words[3:] else ()
    assert call(*words[3:], *SHORT, *more, *serial) == 0
    assert all(run.info.status == "FINISHED" for run in runs())
    assert runs()


@pytest.fixture
def recorded(lay_out):
    """The one run of a recipe of conf/README.md, and the columns of its curves.csv."""

    def record(choice: str):
        words = next(words for words in RECIPES if COMMANDS[words] == CONF and choice in words)
        lay_out(CONF)
        assert call(*words[3:], *SHORT, "dataset=twonorm") == 0
        (run,) = runs()
        client = MlflowClient(store_uri(None))
        file = client.download_artifacts(run.info.run_id, "curves.csv")
        return run, list(pd.read_csv(file).columns)

    return record


def test_the_metric_of_a_replay_is_logged(recorded):
    run, columns = recorded("replay=tune")
    assert "loss_tune" in columns and "step/loss_tune" in run.data.metrics


def test_the_metric_of_a_labeler_is_logged(recorded):
    run, columns = recorded("labeler=watched")
    assert "mean_confidence" in columns and "step/mean_confidence" in run.data.metrics
    assert run.data.tags["variant"] == "ours (labeler=lab.watched, learner.pretrain.steps=5)"


def test_the_curve_of_a_probe_is_logged(recorded):
    run, columns = recorded("probe=classes")
    assert "class_accuracy" in run.data.metrics
    assert "class_accuracy" in columns


def test_a_value_out_of_range_is_refused(lay_out):
    words = next(words for words in RECIPES if COMMANDS[words] == README)
    lay_out(README)
    assert call(*words[3:], "labeler.k=0") == 2


def test_a_method_lays_its_values_over_the_chosen_labeler(here, capfd):
    """What conf/README.md says of precedence."""
    assert call("method=ours", "labeler=confidence", "--cfg", "job") == 0
    assert call("method=record", "labeler=confidence") == 2
    assert "refit" in capfd.readouterr().err
