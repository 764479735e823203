"""Composes the dataset sections that tests load, and cuts the loaded tables into streams."""

from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from sdsl.core.stream import Cut, Stream, StreamConfig
from sdsl.core.table import Table

REPO = Path(__file__).parents[1]
EIGHT = (
    *("mg_2c_2d", "optdigits", "satimage", "spam"),
    *("twonorm", "ug_2c_2d", "ug_2c_3d", "ug_2c_5d"),
)
ARCHIVE = ("1cdt", "1cht", "1csurr", "2cdt", "2cht", "4ce1cf", "4cr", "gears_2c_2d")


def dataset(name: str, **changes: Any) -> dict[str, Any]:
    """conf/dataset/<name>.yaml as a plain mapping."""
    config = OmegaConf.load(REPO / "conf" / "dataset" / f"{name}.yaml")
    return OmegaConf.to_container(OmegaConf.merge(config, changes), resolve=True)


def stream(table: Table, section: dict[str, Any], seeds: tuple[int, ...] = (0,)) -> Stream:
    """The table cut as its section says, with the settings of conf/config.yaml."""
    keys = ("segment_size", "test_size", "gold_per_class", "calibrated_segments")
    cut = Cut(**{key: section[key] for key in keys})
    how = StreamConfig(gold="segment", scaler="frozen", max_segments=None, prefix="literal")
    return Stream(table, cut, how, seeds)
