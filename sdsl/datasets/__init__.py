"""The streams: `load` makes a Table from a dataset section, `check` refuses a wrong one."""

from sdsl.datasets.loader import load
from sdsl.datasets.section import check

__all__ = ["check", "load"]
