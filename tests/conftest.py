"""Folders to run in, each with a store of its own."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory) -> Path:
    """A new mlflow.db, made once: MLflow takes seconds to make one."""
    from sdsl.tracking.address import store_uri
    from sdsl.tracking.client import PatientClient

    file = tmp_path_factory.mktemp("store") / "mlflow.db"
    PatientClient(store_uri(f"sqlite:///{file}"))
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
