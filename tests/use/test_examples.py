"""The notebooks run from top to bottom."""

from pathlib import Path

import nbformat
import pytest
import support
from label_command import command
from nbclient import NotebookClient

pytestmark = pytest.mark.slow
EXAMPLES = support.ROOT / "sdsl" / "examples"
SHORT = ("dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=5", "seed=0,1")


def executed(name: str, folder: Path) -> str:
    """The output of a notebook, which is kept without any."""
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=1200, resources=resources).execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert any("image/png" in out.get("data", {}) for out in shown)
    return "\n".join(str(out.get("data", {}).get("text/plain", out.get("text"))) for out in shown)


def test_follow_a_stream(empty_folder):
    assert "drift" in executed("follow_a_stream.ipynb", empty_folder)


def test_compare_methods(here):
    from sdsl.run import main

    assert command(main, "-m", "method=st,gst", *SHORT) == 0
    assert "acc_online" in executed("compare_methods.ipynb", here)
