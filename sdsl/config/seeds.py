"""Lets `seed` be written as integers: seed=3, 'seed=0,2', 'seed=range(5)' become seed.values=[...].

Hydra refuses an integer on a config group, and `seed` is one (seed=paper). The seeds of one line
become one list, so that they train side by side in one job; the sweeper splits it for fuse=false.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from sdsl.errors import UserError

HINT = "Write seed=3, 'seed=0,2', 'seed=range(5)', or the name of a choice such as seed=paper."
MOST = 10_000  # seeds in one line; a slip like range(1e9) must not fill the memory


def rewrite(line: Sequence[str]) -> list[str]:
    """A command line for Hydra; everything but integers on `seed` passes through untouched."""
    if any(word.startswith("--e") for word in line):
        raise UserError("--experimental-rerun loads a pickle, which may hold anything: not here.")
    words = [_rewrite(word) if word.startswith("seed=") else word for word in line]
    # Hydra's parser wants its flag before the first key=value; people write it anywhere.
    return sorted(words, key=lambda word: word not in ("-m", "--multirun"))


def split(line: Sequence[str]) -> list[str]:
    """A rewritten line with one job per seed: seed.values=[0,1] becomes seed.values=[0],[1]."""
    return [_split(word) if word.startswith("seed.values=") else word for word in line]


def _rewrite(word: str) -> str:
    seeds = _values(_parse(word))
    if not any(isinstance(seed, int | float) for seed in seeds):
        return word  # a named choice, or a sweep over named choices
    if not all(type(seed) is int for seed in seeds):
        raise UserError(f"{word}: a seed is an integer. {HINT}")
    if len(seeds) > MOST:
        raise UserError(f"{word}: more than {MOST} seeds. {HINT}")
    return f"seed.values={_list(seeds)}"


def _split(word: str) -> str:
    override = _parse(word)
    seeds = override.value()
    if override.is_sweep_override() or not isinstance(seeds, list):
        return word
    return "seed.values=" + ",".join(_list([seed]) for seed in seeds)


def _parse(word: str) -> Override:
    try:
        return OverridesParser.create().parse_override(word)
    # Hydra's parser lets through what int() and the stack say of 5,000 digits or brackets.
    except (HydraException, ValueError, RecursionError) as error:
        raise UserError(f"{word[:80]}: {str(error).splitlines()[0]}. {HINT}") from None


def _values(override: Override) -> list[Any]:
    if not override.is_sweep_override():
        value = override.value()
        return value if isinstance(value, list) else [value]
    if not override.is_discrete_sweep():
        raise UserError(f"{override.input_line}: a seed is an integer. {HINT}")
    if "glob(" in (override.input_line or "").replace(" ", ""):
        return []  # over the named choices, which Hydra knows
    try:
        return list(islice(override.sweep_iterator(), MOST + 1))
    except ValueError as error:  # range(0, 5, 0)
        raise UserError(f"{override.input_line}: {error}. {HINT}") from None


def _list(seeds: Sequence[int]) -> str:
    return f"[{','.join(map(str, seeds))}]"
