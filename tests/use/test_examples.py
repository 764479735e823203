"""The notebooks run from top to bottom, and `results` reads what the runs logged."""

import cli
import nbformat
import numpy as np
import pytest
import support
from nbclient import NotebookClient

from sdsl.errors import UserError
from sdsl.tracking.tidy import results

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
    table = results()
    assert len(table) == 4 and set(table.method) == {"st", "gst"} and set(table.seed) == {0, 1}
    assert "labeler.name" in table and "stream.max_segments" not in table  # what varies
    for _, run in table.iterrows():
        assert run.R.shape == (2, 2)
        assert np.isclose(np.diag(run.R).mean(), run.acc_online)
        assert len(run["curve.test_acc"]) == 2
    assert "acc_online" in executed("compare_methods.ipynb", two_methods)


def test_no_runs_is_one_sentence(here):
    with pytest.raises(UserError, match="no finished run"):
        results()
    with pytest.raises(UserError, match="no store"):
        results("sqlite:///none.db")
