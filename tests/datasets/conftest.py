"""What the dataset tests share: a cache of their own, and the original files where present."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dataset_support import REPO, dataset

from sdsl.config.schema import DataConfig


@pytest.fixture
def data(tmp_path: Path) -> DataConfig:
    """Nothing of the user's, no network, a cache that starts empty."""
    return DataConfig(root=None, download=False, cache=str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def originals() -> Path:
    folder = Path(os.environ.get("SDSL_DATA") or REPO.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"needs the original files in SDSL_DATA or {folder}")
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Writes a file and returns the dataset that reads it as the user's own stream."""

    def write(content: str | bytes, name: str = "mine.csv", **changes: Any) -> dict[str, Any]:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        strict = {"segment_size": 4, "test_size": 2, "prepare": False}
        return dataset("own/csv", path=str(path), **{**strict, **changes})

    return write
