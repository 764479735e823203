"""Composes the datasets that the tests of this folder load."""

from pathlib import Path

from omegaconf import OmegaConf

REPO = Path(__file__).parents[2]
EIGHT = (
    *("mg_2c_2d", "optdigits", "satimage", "spam"),
    *("twonorm", "ug_2c_2d", "ug_2c_3d", "ug_2c_5d"),
)


def dataset(name: str, **changes) -> dict:
    """conf/dataset/<name>.yaml as a plain mapping."""
    config = OmegaConf.load(REPO / "conf" / "dataset" / f"{name}.yaml")
    return OmegaConf.to_container(OmegaConf.merge(config, changes), resolve=True)
