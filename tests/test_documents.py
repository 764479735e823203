"""The documents are true: commands are accepted, examples run, links exist, numbers hold."""

import argparse
import importlib
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import support
import yaml
from cli import SERIAL, call, runs
from documents import Document, document, found
from mlflow import MlflowClient

import sdsl
from sdsl import search
from sdsl.bench import __main__ as bench
from sdsl.launch import job
from sdsl.launch.types import JobReport
from sdsl.tracking.address import store_uri
from sdsl.tracking.records import Entry

DOCUMENTS = found()
README, CONF, SWEEPS = (document(f"{folder}README.md") for folder in ("", "conf/", "sweeps/"))
PAPER = support.ROOT / "outputs" / "paper"
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
OTHERS = [words for words in COMMANDS if words not in RUNS]
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


def test_the_readme_is_short():
    assert len(README.text.split()) <= 1500
    assert len(README.text.splitlines()) <= 200


# Commands and examples


@pytest.mark.parametrize("words", [words for words in RUNS if words not in RECIPES], ids=line)
def test_every_run_command_is_accepted(here, monkeypatch, words):
    """Composed, checked and built as a job would be; only the run itself is left out."""
    accepted = []

    def accept(setup, screen, tags=None):
        accepted.append(setup)
        entry = Entry(0, "", {"acc_online": 0.0, "acc_final": 0.0, "lasting_swap": 0.0})
        return JobReport(setup.name, "", "", [entry], 1, "data", "own", store_uri(None))

    monkeypatch.setattr(job, "run", accept)
    sweep = "-m" in words[3:] or any(word.startswith("+sweeps") for word in words)
    assert call(*words[3:], *([SERIAL] if sweep else [])) == 0
    assert accepted or {"--cfg", "--help"} & set(words)


@pytest.mark.parametrize("words", runs_of(ELSEWHERE), ids=line)
def test_every_command_for_a_cluster_is_composed(here, capfd, words):
    assert call(*words[3:], "--cfg", "hydra", "--package", "hydra.launcher") == 0
    assert "_target_: hydra_plugins.sdsl." in capfd.readouterr().out


class Accepted(Exception):
    """Carries what a command understood of its words."""


@pytest.mark.parametrize("words", SDSL, ids=line)
def test_every_other_command_is_accepted(here, monkeypatch, words):
    parse = argparse.ArgumentParser.parse_args

    def stop_after(*args):
        raise Accepted(parse(*args))

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop_after)
    monkeypatch.setattr(sys, "argv", list(words[2:]))
    package = importlib.util.find_spec(words[2]).submodule_search_locations
    module = importlib.import_module(f"{words[2]}.__main__" if package else words[2])
    with pytest.raises(Accepted) as accepted:
        module.main()
    understood = vars(accepted.value.args[0])
    assert set(understood.get("parts", ())) <= set(bench.PARTS)
    assert set(understood.get("variants", ())) <= set(search.VARIANTS)


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
    assert "loss_tune" in recorded("replay=tune")[1]


def test_the_metric_of_a_labeler_is_logged(recorded):
    assert "mean_confidence" in recorded("labeler=watched")[1]


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


# What the texts point to and cover


@every_document
def test_links_lead_somewhere(document):
    for link in document.links():
        path, _, anchor = link.partition("#")
        target = (document.path.parent / path).resolve() if path else document.path
        assert target.exists(), link
        assert not anchor or anchor in Document(target).anchors(), link


def test_nothing_cites_a_document_that_is_not_here():
    absent = re.compile(r"\b(?:PROTOCOL|ALGORITHMS|DESIGN)\b|\.\./shared")
    folders = [support.ROOT / name for name in ("conf", "sweeps", "sdsl", "tests", "outputs")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    texts = [path for path in files if path.suffix in (".md", ".py", ".yaml")]
    own = Path(__file__)
    texts = [path for path in [*texts, README.path] if path != own]
    assert not [path for path in texts if absent.search(path.read_text(encoding="utf-8"))]


def test_every_method_stands_in_the_table():
    cells = " ".join(CONF.table("method"))
    assert set(re.findall(r"`(\w+)`", cells)) == set(support.METHODS)


def test_every_sweep_stands_in_the_table_with_its_runs():
    rows = SWEEPS.table("sweep")
    files = sorted((support.ROOT / "sweeps").glob("*.yaml"))
    assert sorted(rows) == [f"`{file.stem}`" for file in files]
    for file in files:
        said = re.search(r"^# (\d+) runs", file.read_text(encoding="utf-8"), re.M)
        assert rows[f"`{file.stem}`"][1] == said[1]


def test_every_room_is_described():
    rooms = [path.parent.name for path in (support.ROOT / "sdsl").glob("*/__init__.py")]
    text = " ".join(document("sdsl/README.md").table("room"))
    assert all(f"`{room}/" in text for room in rooms)


def test_the_citation():
    cited = yaml.safe_load((support.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)  # required by CFF 1.2.0
    assert cited["version"] == sdsl.__version__ == PROJECT["version"]
    paper = cited["preferred-citation"]
    assert {"type", "title", "authors"} <= set(paper)
    names = [f"{author['given-names']} {author['family-names']}" for author in paper["authors"]]
    text = " ".join(README.text.split())
    assert ", ".join(names) in text
    assert paper["title"] in text


def test_hooks_use_the_installed_tools():
    hooks = yaml.safe_load((support.ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (local,) = hooks["repos"]
    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}


# Numbers


def shown(value: float) -> str:
    """0.9363 as the tables of the README write it."""
    return f"{value:.3f}".removeprefix("0")


@pytest.fixture(scope="module")
def cells() -> dict[str, pd.DataFrame]:
    """metric -> the exported table; one row per method and dataset."""
    names = "acc_online", "acc_final"
    return {name: pd.read_csv(PAPER / "tables" / f"{name}.csv") for name in names}


def test_the_table_of_the_readme(cells):
    mean = cells["acc_online"].pivot(index="method", columns="dataset", values="mean")
    head = re.search(r"^\| method \|(.+)\|$", README.text, re.M)[1]
    datasets = [name.strip().lower() for name in head.split("|")]
    assert sorted(datasets) == sorted(mean.columns)
    rows = README.table("method")
    assert len(rows) >= 5
    for name, row in rows.items():
        method = re.match(r"`(\w+)`", name)[1]
        assert row == [shown(mean.loc[method, dataset]) for dataset in datasets], method


def test_the_other_numbers_of_the_readme(cells):
    online, final = cells["acc_online"], cells["acc_final"]
    known = [*online["mean"], *final["mean"], *online["static_bound"], *final["paper_mean"]]
    known = {shown(value) for value in known if value == value}
    assert set(re.findall(r"(?<![\d.])\.\d{3}\b", README.text)) <= known


def test_what_the_readme_says_of_the_table(cells):
    frame = cells["acc_online"]
    mean = frame.pivot(index="method", columns="dataset", values="mean")
    blind = mean.drop(["jt", "oracle_labels", "static_bound"], errors="ignore")
    lead = (mean.loc["record"] - mean.loc["ours"])[lambda gap: gap > 0]
    assert (len(lead), (lead < 0.01).sum()) == (6, 3)
    for dataset in ("mg_2c_2d", "ug_2c_2d", "ug_2c_3d"):
        assert blind[dataset].idxmax() == "scargc"
    assert frame[frame["method"] == "scargc"][["n", "swaps"]].sum().tolist() == [40, 0]
    assert blind.min(axis=1).idxmax() == "ours_modes"
    assert shown(blind["spam"].max()) == shown(mean.loc["st", "spam"])
    swaps = frame.set_index(["method", "dataset"])["swaps"]
    assert swaps["ours", "mg_2c_2d"] == 5
    standing = frame.drop_duplicates("dataset").set_index("dataset")["standing"]
    assert standing["ug_2c_3d"] == "stand-in"
    assert set(standing[standing == "reconstruction"].index) == {"ug_2c_5d", "spam"}


def test_the_number_of_claims():
    verdicts = pd.read_csv(PAPER / "verdicts.csv").query("setting == 'literal'")["verdict"]
    n = verdicts.value_counts()
    assert n["not run"] == 1
    text = " ".join(README.text.split())
    assert f"makes {len(verdicts)} claims that can be tested" in text
    assert f"**{n['reproduced']} are reproduced, {n['not reproduced']} are not.**" in text
    assert f"Another {n['out of reach']} are out of reach" in text
    counts = (
        f"{len(verdicts)} claims are: {n['reproduced']} reproduced, {n['not reproduced']} not, "
        f"{n['out of reach']} out of reach, {n['not run']} not run"
    )
    assert counts in " ".join(document("outputs/paper/README.md").text.split())


def test_the_table_of_the_search():
    table = search.markdown(PAPER / "search.csv")
    assert table.strip() in document("outputs/paper/SETTINGS.md").text


def test_what_one_run_costs():
    rows = json.loads((PAPER / "bench" / "store.json").read_text())["rows"]
    one, twelve, disk = (row["raw"] for row in rows)
    table = list(SWEEPS.table("per run").values())
    for row, part in enumerate(("Hydra", "data", "MLflow", "artifacts")):
        assert table[row] == [f"{raw[part]:.2f} s" for raw in (one, twelve)]
    assert table[5] == [f"{sum(raw.values()):.2f} s" for raw in (one, twelve)]
    assert table[6][1] == f"{disk['database'] / 1e3:.0f} kB"
    assert table[7][1] == f"{disk['artifacts'] / 1e3:.0f} kB in {disk['files']:.0f} files"
