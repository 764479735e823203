"""What the dataset tests share: an empty cache, files made up, the original files if there."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dataset_support import dataset
from support import ROOT

from sdsl.config.sections import DataConfig
from sdsl.core.rows import Table
from sdsl.datasets import load


@pytest.fixture
def data(tmp_path: Path) -> DataConfig:
    """Nothing of the user's, no network, a cache that starts empty."""
    return DataConfig(root=None, download=False, cache=str(tmp_path / "cache"))


@pytest.fixture
def originals(data) -> DataConfig:
    """The same with the original files, which users do not have."""
    root = Path(os.environ.get("SDSL_DATA") or ROOT.parent / "shared" / "data")
    if not (root / "UG_2C_2D.csv.gz").is_file():
        pytest.skip("needs the original files: set SDSL_DATA to their folder")
    return replace(data, root=str(root))


@pytest.fixture
def own(tmp_path: Path, data) -> Callable[..., Table]:
    """own("1,2,a\\n..."): the table that dataset=own/csv makes of a file with this content."""

    def read(content: str | bytes, name: str = "mine.csv", **changes: Any) -> Table:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        strict = {"segment_size": 4, "prepare": False}
        return load(dataset("own/csv", path=str(path), **strict | changes), data)

    return read
