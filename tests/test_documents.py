"""The documents are true: commands are accepted or run, examples run, links and tables hold."""

import importlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import support
import yaml

import sdsl
from sdsl.config import composed, setup

ROOT = support.ROOT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = [
    *[ROOT / "README.md", ROOT / "outputs" / "paper" / "README.md"],
    *(f for room in ("conf", "sweeps", "sdsl", "tests") for f in (ROOT / room).rglob("README.md")),
]
FENCE = re.compile(r"(?:^`([^`\n]+)`\n\n)?^```(\w+)\n(.*?)^```$", re.S | re.M)
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))


@dataclass(frozen=True)
class Block:
    """A fenced block; a line before it that holds only a path names its file."""

    file: str | None
    kind: str
    text: str


def blocks(page: Path, kind: str | None = None) -> list[Block]:
    found = [Block(*match) for match in FENCE.findall(page.read_text(encoding="utf-8"))]
    return [block for block in found if kind in (None, block.kind)]


def commands(page: Path) -> list[list[str]]:
    lines = [
        part
        for b in blocks(page, "bash")
        for line in b.text.splitlines()
        for part in line.split("&&")
    ]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


RUNS = {
    " ".join(words[3:]): (words[3:], page)
    for page in PAGES
    for words in commands(page)
    if words[:3] == ["python", "-m", "sdsl.run"]
}
RECIPES = {line: found for line, found in RUNS.items() if "--config-dir" in line}


def write_files(page: Path, folder: Path) -> None:
    """The files of a page's blocks, below `folder`, which is also the current folder."""
    for block in blocks(page):
        if block.file:
            file = folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.kind == "python" and "savetxt" in block.text:
            exec(block.text, {})


def test_the_two_commands_of_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install -e . && python -m sdsl.run\n" in text
    second = "pip install -e '.[test]' && python -m pytest"
    assert second in text
    assert second.replace("install", "install -q") in (ROOT / ".ci" / "run").read_text()


def plain(words: list[str]) -> list[str]:
    """The overrides of a command, without flags and sweeps."""
    keys = ("hydra", "+sweeps", "seed", "~")
    kept = [w for w in words if "=" in w and not w.startswith(keys)]
    return [w for w in kept if not re.search(r"glob\(|range\(|,", w)]


@pytest.mark.parametrize("line", [line for line in RUNS if line not in RECIPES])
def test_every_run_command_is_accepted(line):
    """Composed, checked and built as a job would be; only the run itself is left out."""
    setup(composed(*plain(RUNS[line][0])))


@pytest.mark.parametrize("sweep", sorted(f.stem for f in (ROOT / "sweeps").glob("*.yaml")))
def test_every_choice_of_a_sweep_exists(sweep):
    params = yaml.safe_load((ROOT / "sweeps" / f"{sweep}.yaml").read_text())["hydra"]["sweeper"][
        "params"
    ]
    for key, value in params.items():
        if key in ("method", "dataset", "probe", "labeler", "replay") and "glob" not in str(value):
            for choice in str(value).split(","):
                assert (ROOT / "conf" / key / f"{choice.strip()}.yaml").exists(), choice


@pytest.mark.parametrize("line", RECIPES)
def test_every_recipe_runs(line, here, monkeypatch):
    words, page = RECIPES[line]
    write_files(page, here)
    if page.name == "README.md" and page.parent.name == "conf":
        write_files(ROOT / "README.md", here)
    short = ["stream.max_segments=2", "learner.pretrain.steps=5", "seed=0"]
    stream = [] if "dataset=" in line else ["dataset=twonorm"]
    local = ["hydra/launcher=basic"] if "-m" in words else []
    env = os.environ | {"PYTHONPATH": f"{here}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "sdsl.run", *words, *short, *stream, *local]
    done = subprocess.run(command, cwd=here, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Acc_t" in done.stdout


@every_page
def test_python_examples_run(page, empty_folder):
    for block in blocks(page, "python"):
        if not block.file:
            exec(compile(block.text, str(page), "exec"), {"__name__": "example"})


def test_the_label_command_labels(here, monkeypatch):
    """gold=week1.csv 'files=incoming/*.parquet' label=class out=labelled/"""
    from sdsl import label

    words = next(w for w in commands(ROOT / "README.md") if w[:3] == ["python", "-m", "sdsl.label"])
    rng = np.random.default_rng(0)
    (here / "incoming").mkdir()
    for day in ("monday", "tuesday"):
        kind = rng.integers(2, size=120)
        frame = pd.DataFrame({"a": rng.normal(6 * kind), "b": rng.normal(size=120)})
        frame.to_parquet(here / "incoming" / f"{day}.parquet")
        frame.assign(**{"class": np.where(kind, "yes", "no")}).to_csv("week1.csv", index=False)
    monkeypatch.setattr(sys, "argv", words[2:])
    label.main()
    for day in ("monday", "tuesday"):
        labelled = pd.read_parquet(here / "labelled" / f"{day}.parquet")
        assert (labelled["label"] == np.where(labelled["a"] > 3, "yes", "no")).mean() > 0.95
        assert labelled["confidence"].between(0, 1).all()


@every_page
def test_modules_and_extras_named_in_a_page_exist(page):
    text = page.read_text(encoding="utf-8")
    for module in re.findall(r"python -m ([\w.]+)", text):
        assert importlib.util.find_spec(module), module
    for extra in re.findall(r"pip install -e '\.\[([\w,]+)\]'", text):
        assert set(extra.split(",")) <= set(PROJECT["optional-dependencies"])


def anchors(page: Path) -> set[str]:
    """The headings, as GitHub names them in links."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@every_page
def test_links_lead_somewhere(page):
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not link.startswith("http"):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_pages_are_short():
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in PAGES}
    assert words[ROOT / "README.md"] <= 1600
    assert sum(words.values()) <= 15_000


def test_nothing_cites_a_document_that_is_not_here():
    absent = re.compile(r"\b(?:PROTOCOL|ALGORITHMS|DESIGN)\b|\.\./shared")
    rooms = [ROOT / name for name in ("conf", "sweeps", "sdsl", "tests", "outputs/paper")]
    files = [f for room in rooms for f in room.rglob("*.*") if f.suffix in (".md", ".py", ".yaml")]
    files = [f for f in files if f != Path(__file__)]
    assert [f for f in files if absent.search(f.read_text(encoding="utf-8"))] == []


def test_every_method_and_sweep_stands_in_its_table():
    methods = re.findall(
        r"`(\w+)`", (ROOT / "conf" / "README.md").read_text().split("## Methods")[1]
    )
    assert {f.stem for f in (ROOT / "conf" / "method").glob("*.yaml")} <= set(methods)
    sweeps = (ROOT / "sweeps" / "README.md").read_text()
    assert [f.stem for f in (ROOT / "sweeps").glob("*.yaml") if f"`{f.stem}`" not in sweeps] == []


def test_the_citation():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)  # required by CFF 1.2.0
    assert cited["version"] == sdsl.__version__ == PROJECT["version"]
    authors = cited["preferred-citation"]["authors"]
    names = ", ".join(f"{author['given-names']} {author['family-names']}" for author in authors)
    assert names in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
