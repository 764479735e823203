"""The streams: `load` turns a composed `conf/dataset/<name>.yaml` into a Table."""

from sdsl.datasets.loader import load

__all__ = ["load"]
