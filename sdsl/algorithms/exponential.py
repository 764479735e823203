"""exp in arithmetic alone, so that a compiled loop over rows takes several rows at a time.

exp(x) = 2^k exp(r) with k = round(x / log 2) and r = x - k log 2, exp(r) by its series to r^12,
within an ulp or two. The library's is one call a row.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sdsl.core.compiled import compiled

LOG2_E = 1.4426950408889634
LOG2_HIGH = 0.6931471803691238  # log 2, whose product with k is exact, and the rest of it
LOG2_LOW = 1.9082149292705877e-10
SHIFT = 6755399441055744.0  # 1.5 2^52: a sum with it is rounded to a whole number, in its last bits
ONE = 0x3FF0000000000000  # the bits of 1.0
LEAST = -708.0  # below this it is 0


@intrinsic
def bits(context: Any, x: Any) -> Any:
    """The 64 bits of a float64 as an integer."""

    def cast(_: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), cast


@intrinsic
def number(context: Any, x: Any) -> Any:
    """And back."""

    def cast(_: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), cast


@compiled
def exp(x: float) -> float:
    """For x <= 700; NaN stays NaN."""
    whole = x * LOG2_E + SHIFT
    k = whole - SHIFT
    r = (x - k * LOG2_HIGH) - k * LOG2_LOW
    p = r * (1 / 479001600) + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power: float = number((bits(whole) << 52) + ONE)  # type: ignore[call-arg]
    return 0.0 if x < LEAST else p * power
