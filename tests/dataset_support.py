"""The dataset sections of conf/, and files that tests make up."""

import gzip
import io
import zipfile
from typing import Any

import pandas as pd
import support
from omegaconf import OmegaConf

# As in dataset=glob(*), and the sub-groups archive and real.
EIGHT = [name for name in support.options("dataset") if "/" not in name]
ARCHIVE = [name for name in support.options("dataset") if name.startswith("archive/")]
REAL = [name for name in support.options("dataset") if name.startswith("real/")]


def dataset(name: str, **changes: Any) -> dict[str, Any]:
    """conf/dataset/<name>.yaml as a plain mapping."""
    config = OmegaConf.load(support.ROOT / "conf" / "dataset" / f"{name}.yaml")
    return OmegaConf.to_container(OmegaConf.merge(config, changes), resolve=True)


def zipped(**files: str | bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def gzipped(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def parquet(**columns: Any) -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer)
    return buffer.getvalue()
