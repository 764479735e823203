"""Loops that numba compiles to machine code: at their first call, then kept on disk beside the file.

Without fast math, so sums keep their order: the bits of a replica are the same in any company.
"""

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    """The loop as machine code; where nothing may be written, it is compiled in every process."""
    try:
        return njit(cache=True, error_model="numpy")(loop)
    except RuntimeError:  # numba found no folder for its cache
        return njit(error_model="numpy")(loop)
