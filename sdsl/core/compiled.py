"""Loops that numba compiles to machine code at their first call, and keeps on disk.

Without fast math, so sums keep their order and a seed its bits.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  the BLAS that numba calls: loaded here, so that `blas` finds it
from numba import njit
from threadpoolctl import ThreadpoolController


def compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    """The loop as machine code; where nothing may be written, it is compiled in every process."""
    try:
        return njit(cache=True, error_model="numpy")(loop)
    except RuntimeError:  # numba found no folder for its cache
        return njit(error_model="numpy")(loop)


@cache
def blas() -> ThreadpoolController:
    """The number of threads of the products in such loops: `with blas().limit(limits=1)`."""
    return ThreadpoolController().select(user_api="blas")
