"""The notebooks run from top to bottom."""

import cli
import nbformat
import pytest
import support
from nbclient import NotebookClient

EXAMPLES = support.ROOT / "sdsl" / "examples"
SHORT = ("dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=5", "seed=0,1")


def executed(name: str, folder) -> str:
    """All that a notebook printed."""
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert any("image/png" in out.get("data", {}) for out in shown)
    return "\n".join(str(out.get("data", {}).get("text/plain", out.get("text"))) for out in shown)


def test_there_are_two_and_they_are_kept_without_output():
    files = sorted(path.name for path in EXAMPLES.glob("*.ipynb"))
    assert files == ["compare_methods.ipynb", "follow_a_stream.ipynb"]
    for name in files:
        cells = nbformat.read(EXAMPLES / name, as_version=4).cells
        assert not any(cell.get("outputs") for cell in cells)


def test_follow_a_stream(empty_folder):
    text = executed("follow_a_stream.ipynb", empty_folder)
    assert "low trust in gold" in text and "0.5" in text.splitlines()[-1]


@pytest.fixture
def two_methods(here, monkeypatch):
    for method in ("st", "gst"):
        assert cli.call(f"method={method}", *SHORT, "-m") == 0
    return here


def test_compare_methods(two_methods):
    assert "acc_online" in executed("compare_methods.ipynb", two_methods)
