"""Folders to run in, each with a store of its own; the longest files are begun first."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Their few tests wait for servers and for commands that are killed: begun last, one of them would
# run on alone.
LONG = (
    *("launch/test_launchers.py", "tracking/test_server.py", "use/test_kill.py"),
    *("use/test_served.py", "test_documents.py", "test_battery.py"),
)


def pytest_configure(config) -> None:
    config.option.loadscopereorder = False  # pytest-xdist would begin with the files of most tests


def pytest_sessionstart(session) -> None:
    """In a fresh clone the loops are compiled first, once for all processes and commands."""
    here = Path(__file__).parent
    compiled = any((here.parent / "sdsl" / "core" / "__pycache__").rglob("*.nbi"))
    if not compiled and not hasattr(session.config, "workerinput"):
        path = f"{here}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        command = [sys.executable, here / "warm.py"]
        subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True)


def pytest_collection_modifyitems(items) -> None:
    ranks = {Path(__file__).parent / name: rank for rank, name in enumerate(LONG)}
    items.sort(key=lambda item: ranks.get(item.path, len(LONG)))  # stable: the others stay


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory) -> Path:
    """A new mlflow.db, made once: MLflow takes seconds to make one."""
    from mlflow import MlflowClient

    file = tmp_path_factory.mktemp("store") / "mlflow.db"
    MlflowClient(f"sqlite:///{file}").search_experiments()
    return file


@pytest.fixture
def empty_folder(tmp_path, monkeypatch) -> Path:
    """An empty folder to run in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path


@pytest.fixture
def here(empty_store, empty_folder) -> Path:
    """A folder to run in that holds nothing but a new store."""
    shutil.copy(empty_store, empty_folder)
    return empty_folder
