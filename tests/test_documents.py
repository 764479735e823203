"""The documents are true: commands are accepted or run, examples run, links and tables hold."""

import importlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import nbformat
import numpy as np
import pandas as pd
import pytest
import support
import yaml
from cli import call
from nbclient import NotebookClient

import sdsl
from sdsl import label
from sdsl.config import composed, setup
from sdsl.report import claims
from sdsl.report.tables import decimal

ROOT = support.ROOT
RESULTS = ROOT / "outputs" / "paper"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = [
    *[ROOT / "README.md", RESULTS / "README.md"],
    *(f for room in ("conf", "sweeps", "sdsl", "tests") for f in (ROOT / room).rglob("README.md")),
]
FENCE = re.compile(r"(?:^`([^`\n]+)`\n\n)?^```(\w+)\n(.*?)^```$", re.S | re.M)
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))


class Block(NamedTuple):
    """A fenced block; a line before it that holds only a path names its file."""

    file: str
    kind: str
    text: str


def blocks(page: Path, *kinds: str) -> list[Block]:
    found = [Block(*match) for match in FENCE.findall(page.read_text(encoding="utf-8"))]
    return [block for block in found if not kinds or block.kind in kinds]


def commands(page: Path) -> list[list[str]]:
    """The words of every command, also of several on one line."""
    lines = [line for block in blocks(page, "bash") for line in re.split(r"\n|&&", block.text)]
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


@pytest.mark.parametrize("line", [line for line in RUNS if line not in RECIPES])
def test_every_run_command_is_accepted(line):
    """Composed, checked and built as a job would be, without flags and sweeps."""
    words = [w for w in RUNS[line][0] if "=" in w and not re.search(r"glob\(|range\(|,", w)]
    setup(composed(*(w for w in words if not w.startswith(("hydra", "+sweeps", "seed", "~")))))


@pytest.mark.parametrize("line", RECIPES)
def test_every_recipe_runs(line, here):
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


def executed(name: str) -> str:
    """The output of a notebook, which is kept without any, in the current folder."""
    notebook = nbformat.read(ROOT / "sdsl" / "examples" / name, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": "."}}).execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert any("image/png" in out.get("data", {}) for out in shown)
    return str(shown)


@pytest.mark.slow
def test_the_notebooks_run_from_top_to_bottom(here):
    assert "drift" in executed("follow_a_stream.ipynb")
    short = ("dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=5", "seed=0,1")
    assert call("-m", "method=st,gst", *short) == 0
    assert "acc_online" in executed("compare_methods.ipynb")


def test_the_label_command_labels(here, monkeypatch):
    """gold=week1.csv 'files=incoming/*.parquet' label=class out=labelled/"""
    words = next(w for w in commands(ROOT / "README.md") if w[:3] == ["python", "-m", "sdsl.label"])
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=240)
    frame = pd.DataFrame({"a": rng.normal(6 * kind), "b": rng.normal(size=240)})
    frame[:120].assign(**{"class": frame.a > 3}).to_csv("week1.csv", index=False)
    (here / "incoming").mkdir()
    frame[120:].to_parquet("incoming/monday.parquet")
    monkeypatch.setattr(sys, "argv", words[2:])
    label.main()
    labelled = pd.read_parquet("labelled/monday.parquet")
    assert (labelled["label"] == np.where(labelled["a"] > 3, "True", "False")).mean() > 0.95


@every_page
def test_modules_and_extras_named_in_a_page_exist(page):
    text = page.read_text(encoding="utf-8")
    for module in re.findall(r"python -m ([\w.]+)", text):
        assert importlib.util.find_spec(module), module
    for extra in re.findall(r"pip install .*-e '\.\[([\w,]+)\]'", text):
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


def test_every_method_and_sweep_stands_in_its_table():
    methods = (ROOT / "conf" / "README.md").read_text(encoding="utf-8").split("## Methods")[1]
    assert set(support.METHODS) <= set(re.findall(r"`(\w+)`", methods))
    sweeps = (ROOT / "sweeps" / "README.md").read_text(encoding="utf-8")
    assert [f.stem for f in (ROOT / "sweeps").glob("*.yaml") if f"`{f.stem}`" not in sweeps] == []


def test_the_tested_versions_are_those_of_pyproject():
    """Lower bounds as in .ci/lowest.txt, exact ones as the results were made; CI's Pythons."""
    lowest, exact, made = (
        dict(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / file).read_text(encoding="utf-8"), re.M))
        for file in (".ci/lowest.txt", ".ci/constraints.txt", "outputs/paper/environment.txt")
    )
    listed = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["data"]
    assert dict(line.split(">=") for line in listed) == lowest
    assert len(PROJECT["dependencies"]) <= 12
    assert {name: made[name] for name in lowest} == {name: exact[name] for name in lowest}
    pythons = [found[1] for c in PROJECT["classifiers"] if (found := re.search(r":: (3\.\d+)", c))]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert re.findall(r'python-version: "([\d.]+)"', workflow) == pythons
    assert f"You need Python {', '.join(pythons)}." in (ROOT / "README.md").read_text()


def test_the_citation():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)  # required by CFF 1.2.0
    assert cited["version"] == sdsl.__version__ == PROJECT["version"]


def test_the_numbers_of_the_front_page_are_those_of_the_results():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    verdicts = pd.read_csv(RESULTS / "verdicts.csv", keep_default_na=False)
    held = claims.held(verdicts)
    assert re.findall(r"<!-- claims -->(\d+)", page) == [str(len(held))]
    counts = dict(re.findall(r"<!-- held ([\w ]+) -->(\d+)", page))
    assert {name: str((held == name).sum()) for name in claims.HELD} == counts

    def means(protocol: str, metric: str) -> pd.DataFrame:
        cells = pd.read_csv(RESULTS / "tables" / f"{metric}.csv", keep_default_na=False)
        own = cells[cells.setting == {"few": "", "much": "gold=segment"}[protocol]]
        return own.pivot(index="method", columns="dataset", values="mean").apply(pd.to_numeric)

    numbers = re.findall(r"<!-- (few|much) (\w+) (\w+) (\w+) -->(\.\d+)", page)
    for protocol, metric, method, dataset, number in numbers:
        assert number == decimal(means(protocol, metric).loc[method, dataset])
    for protocol, first, second, count in re.findall(r"<!-- ahead (\w+) (\w+) (\w+) -->(\d)", page):
        acc = means(protocol, "acc_online").filter(regex="^(?!real_)")
        assert (acc.loc[first] > acc.loc[second]).sum() == int(count)
    real = means("few", "acc_online").filter(like="real_")
    for method, number in re.findall(r"<!-- real (\w+) -->(\.\d+)", page):
        assert number == decimal(real.loc[method].mean())
    for method, other, gap in re.findall(r"<!-- behind (\w+) (\w+) -->(\.\d+)", page):
        assert gap == decimal((real.loc[other] - real.loc[method]).max())
    tables = re.findall(r"<!-- table (\w+) (\w+) ?(\w*) -->\n\n((?:\|.*\n)+)", page)
    assert len(numbers) > 4 and [family for _, _, family, _ in tables] == ["", "real_"]
    for protocol, metric, family, table in tables:
        head, _, *rows = ([c.strip() for c in row.split("|")[1:-1]] for row in table.splitlines())
        shown = {row[0].split("`")[1]: row[1:] for row in rows if "`" in row[0]}
        assert len(shown) > 4
        for method, cells in shown.items():
            streams = [family + name.lower() for name in head[1:]]
            assert cells == [*map(decimal, means(protocol, metric).loc[method, streams])]
