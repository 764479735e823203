"""What commands leave in outputs/: nothing empty, and only what sweeps/README.md describes."""

import re
from pathlib import Path

from cli import ROOT, SERIAL, TINY, call

from sdsl.datasets import __main__ as datasets

FOLDER = re.compile(r'(?<![\w/])outputs(?:/|", f?")([a-z_]+)')


def described() -> set[str]:
    """The first column of the table in sweeps/README.md, without what stands for a name."""
    text = (ROOT / "sweeps" / "README.md").read_text(encoding="utf-8")
    rows = text.partition("| in `outputs/` |")[2].partition("\n\n")[0]
    return {re.sub(r"(/|\*?\.csv)$", "", name) for name in re.findall(r"^\| `([^`]+)`", rows, re.M)}


def empty_folders(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_dir() and not list(path.iterdir())]


def test_runs_and_sweeps_leave_their_artifacts_and_nothing_empty(here):
    assert call(*TINY) == 0
    assert call("-m", SERIAL, *TINY, "lookback.size=20,30") == 0
    assert call(*TINY, "lookback.size=40", "labeler=oracle", "replay=nonsense") == 2
    assert sorted(path.name for path in here.iterdir()) == ["mlflow.db", "outputs"]
    assert [path.name for path in (here / "outputs").iterdir()] == ["mlruns"]
    assert empty_folders(here) == []


def test_a_refusal_leaves_nothing(empty_folder):
    assert call(*TINY, "lookback.size=many") == 2
    assert call("-m", SERIAL, *TINY, "lookback.size=many,few") == 2
    assert list(empty_folder.iterdir()) == []


def test_every_folder_that_the_code_names_is_described():
    files = [*(ROOT / "sdsl").rglob("*.py"), *(ROOT / "conf").rglob("*.yaml")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    named = set(FOLDER.findall(text)) - {"hydra"}  # where no command has made a folder for Hydra
    assert {"mlruns", "report", "streams", "search_", "paper"} <= named
    assert named == described()


def test_the_streams_fit_100_columns(empty_folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["sdsl.datasets"])
    assert datasets.main() == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    assert len(re.findall(r"(?<!\S)[0-9a-f]{12}(?!\S)", out)) == 8
    assert [path.name for path in (empty_folder / "outputs").iterdir()] == ["streams"]
