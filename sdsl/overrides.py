"""Lets `seed` be written as integers: seed=3, 'seed=0,2', 'seed=range(5)' become seed.values=[...].

Hydra refuses an integer on a config group, and `seed` is one (seed=paper). The seeds of one line
become one list, so that they train side by side in one job; fuse=false gives a job to each.
"""

from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from sdsl.errors import UserError


def rewrite(line: Sequence[str]) -> list[str]:
    """A command line for Hydra; everything but integers on `seed` passes through untouched."""
    multirun = any(word in ("-m", "--multirun") or word.startswith("+sweeps=") for word in line)
    separate = multirun and any(word.lower() in ("fuse=false", "fuse=0") for word in line)
    return [_rewrite(word, separate) if word.startswith("seed=") else word for word in line]


def _rewrite(word: str, separate: bool) -> str:
    seeds = _seeds(_parse(word))
    if not any(isinstance(seed, int) for seed in seeds):
        return word  # a named choice, or a sweep over named choices
    if not all(isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds):
        raise UserError(f"{word}: integers or named choices of conf/seed, not both.")
    lists = [[seed] for seed in seeds] if separate else [seeds]
    return "seed.values=" + ",".join(str(values).replace(" ", "") for values in lists)


def _parse(word: str) -> Override:
    try:
        return OverridesParser.create().parse_override(word)
    except HydraException as error:
        raise UserError(
            f"{word}: {str(error).splitlines()[0]}. Write seed=3, 'seed=0,2', 'seed=range(5)' "
            "or the name of a choice, such as seed=paper."
        ) from None


def _seeds(override: Override) -> list:
    if override.is_sweep_override():
        if not override.is_discrete_sweep() or "glob" in override.input_line:
            return []
        return list(override.sweep_iterator())
    value = override.value()
    if isinstance(value, float):
        raise UserError(f"{override.input_line}: a seed is an integer.")
    return value if isinstance(value, list) else [value]
