"""Makes tests/support.py importable from every test folder; a folder with a store to run in."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory) -> Path:
    """A new mlflow.db, made once: MLflow takes seconds to make one."""
    from sdsl.tracking.client import PatientClient, store_uri

    file = tmp_path_factory.mktemp("store") / "mlflow.db"
    PatientClient(store_uri(f"sqlite:///{file}"))
    return file


@pytest.fixture
def here(empty_store, tmp_path, monkeypatch) -> Path:
    """An empty folder to run in, with a store of its own."""
    shutil.copy(empty_store, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path
