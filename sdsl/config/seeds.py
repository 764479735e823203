"""Lets `seed` be written as integers: seed=3, 'seed=0,2', 'seed=range(5)' become seed.values=[...].

Hydra refuses an integer on a config group, and `seed` is one (seed=paper). The seeds of one line
become one list, which one job runs in turn.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from sdsl.errors import UserError

HINT = "Write seed=3, 'seed=0,2', 'seed=range(5)', or the name of a choice such as seed=paper."
LIMIT = 10_000  # seeds in one line; a slip like range(1e9) must not fill the memory


def rewrite(line: Sequence[str]) -> list[str]:
    """A command line for Hydra; everything but integers on `seed` passes through untouched."""
    return [_rewrite(word) if word.startswith("seed=") else word for word in line]


def _rewrite(word: str) -> str:
    try:
        override = OverridesParser.create().parse_override(word)
        seeds = _values(override)
    # Hydra's parser does not catch the errors of int() for 5,000 digits, of the stack for brackets.
    except (HydraException, ValueError, RecursionError) as error:
        raise UserError(f"{word[:80]}: {str(error).splitlines()[0]}. {HINT}") from None
    if not any(isinstance(seed, int | float) for seed in seeds):
        return word  # a named choice, or a sweep over named choices
    if not all(type(seed) is int for seed in seeds):
        raise UserError(f"{word}: a seed is an integer. {HINT}")
    if len(seeds) > LIMIT:
        raise UserError(f"{word}: more than {LIMIT} seeds. {HINT}")
    return f"seed.values=[{','.join(map(str, seeds))}]"


def _values(override: Override) -> list[Any]:
    if not override.is_sweep_override():
        value = override.value()
        return value if isinstance(value, list) else [value]
    if "glob(" in (override.input_line or "").replace(" ", ""):
        return []  # over the named choices, which Hydra knows
    if not override.is_discrete_sweep():
        raise ValueError("a seed is an integer")
    return list(islice(override.sweep_iterator(), LIMIT + 1))
