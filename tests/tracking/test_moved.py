"""A project folder that is moved or copied goes on where it is."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli import TINY, call, runs, start

from sdsl.tracking.tidy import results
from sdsl.verify import verify

TWO = (*TINY, "seed=0,1")


def state(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "outputs/20" not in str(path)  # Hydra's notes of a run
    }


def enter(monkeypatch, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)


@pytest.fixture
def project(here, monkeypatch) -> Path:
    """A folder with two runs; its name has a space, which an address writes as %20."""
    folder = here / "my project"
    enter(monkeypatch, folder)
    shutil.copy(here / "mlflow.db", folder)
    assert call(*TWO) == 0
    return folder


def without_the_tag(folder: Path) -> None:
    """As versions before the tag left their stores."""
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection, connection:
        connection.execute("DELETE FROM experiment_tags")


@pytest.mark.parametrize("older", [False, True], ids=["new", "older"])
def test_a_moved_folder(project, monkeypatch, capfd, older):
    if older:
        without_the_tag(project)
    before = {run.info.run_id for run in runs()}
    new = project.parent / "elsewhere" / "renamed"
    new.parent.mkdir()
    monkeypatch.chdir(project.parent)
    project.rename(new)
    monkeypatch.chdir(new)
    assert call(*TWO) == 0
    assert {run.info.run_id for run in runs()} == before, "nothing is done twice"
    assert len(results()) == 2
    assert verify(sorted(before)[0]).same
    assert call(*TINY, "seed=range(3)") == 0
    assert len(runs()) == 3 and len(list((new / "outputs" / "mlruns").iterdir())) == 3
    assert not project.exists()


def test_a_copied_folder_leaves_the_original_alone(project, monkeypatch):
    copy = project.parent / "copy"
    shutil.copytree(project, copy)
    before = state(project)
    monkeypatch.chdir(copy)
    shutil.rmtree(project / "outputs" / "mlruns")  # nor does it read there
    rest = state(project)
    assert call(*TWO) == 0 and len(runs()) == 2
    assert call(*TINY, "seed=range(3)") == 0
    assert len(runs()) == 3 and len(list((copy / "outputs" / "mlruns").iterdir())) == 3
    assert state(project) == rest and rest.items() <= before.items()


def test_a_copy_of_the_database_alone(project, monkeypatch):
    """Its finished runs are read where they are; new ones are not put there."""
    copy = project.parent / "copy"
    enter(monkeypatch, copy)
    shutil.copy(project / "mlflow.db", copy)
    before = state(project)
    assert call(*TINY, "seed=range(3)") == 0
    assert len(runs()) == 3 and len(list((copy / "outputs" / "mlruns").iterdir())) == 1
    assert state(project) == before


def test_a_folder_under_another_name_is_the_same_folder(project, monkeypatch):
    alias = project.parent / "alias"
    os.symlink(project, alias)
    before = (project / "mlflow.db").read_bytes()
    assert call(*TWO, f"tracking.uri=sqlite:///{alias}/mlflow.db") == 0
    assert (project / "mlflow.db").read_bytes() == before


def test_a_store_of_ones_own_choice(here, monkeypatch):
    """Its artifacts are where the command was started, and are found from there after a move."""
    old, new = here / "old", here / "new"
    enter(monkeypatch, old)
    store = "tracking.uri=sqlite:///stores/mine.db"
    assert call(*TINY, store) == 0
    monkeypatch.chdir(here)
    old.rename(new)
    monkeypatch.chdir(new)
    again = start(*TINY, "seed=0,1", store)  # MLflow keeps the files of its process open
    assert again.wait() == 0, again.communicate()[1]
    assert len(runs(uri=f"sqlite:///{new}/stores/mine.db")) == 2
    assert len(list((new / "outputs" / "mlruns").iterdir())) == 2 and not old.exists()
