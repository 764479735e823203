"""The dataset sections of conf/, and files that tests make up."""

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
from omegaconf import OmegaConf

CONF = Path(__file__).parents[1] / "conf" / "dataset"
EIGHT = (
    *("mg_2c_2d", "optdigits", "satimage", "spam"),
    *("twonorm", "ug_2c_2d", "ug_2c_3d", "ug_2c_5d"),
)
ARCHIVE = ("1cdt", "1cht", "1csurr", "2cdt", "2cht", "4ce1cf", "4cr", "gears_2c_2d")


def dataset(name: str, **changes: Any) -> dict[str, Any]:
    """conf/dataset/<name>.yaml as a plain mapping."""
    config = OmegaConf.load(CONF / f"{name}.yaml")
    return OmegaConf.to_container(OmegaConf.merge(config, changes), resolve=True)


def zipped(**files: str | bytes) -> bytes:
    """A zip archive; `__` in a name stands for a dot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


def gzipped(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def parquet(**columns: Any) -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer)
    return buffer.getvalue()
