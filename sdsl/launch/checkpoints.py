"""Where the checkpoint of a job lies: outputs/checkpoints/<run, code and machine>-<seeds>.sdsl"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sdsl.tracking import provenance

if TYPE_CHECKING:
    from sdsl.config.schema import Setup
    from sdsl.core.checkpoint import Checkpoint

FOLDER = Path("outputs", "checkpoints")
LONGEST = 150  # characters of a file's name for its seeds


@dataclass(frozen=True)
class Kept:
    """The seeds to train side by side, which are more than those wanted where some are finished."""

    seeds: tuple[int, ...]
    checkpoint: "Checkpoint | None"


def of_job(setup: "Setup", group: str, wanted: Sequence[int], say: Callable[[str], None]) -> Kept:
    """The checkpoint of these seeds of a group, or one of more seeds that was begun.

    A job that was stopped while it recorded its seeds has some of them finished. Its checkpoint is
    of all of them: they are trained on together, and the finished ones are not recorded again.
    """
    from sdsl.config.registry import own_modules
    from sdsl.core.checkpoint import Checkpoint

    if setup.checkpoint.seconds is None:
        return Kept(tuple(wanted), None)
    # Another CPU may round otherwise: what it began is not continued here.
    key = hashlib.sha256(f"{group} {provenance.tags()['cpu']}".encode()).hexdigest()[:32]
    seeds = tuple(wanted)
    if setup.fuse and not setup.force and not _file(key, seeds).exists():
        seeds = next(iter(_larger(key, set(wanted))), seeds)
    file = _file(key, seeds)
    checkpoint = Checkpoint(
        file, file.stem, setup.checkpoint.seconds, own_modules(setup.config), say
    )
    if setup.force:
        checkpoint.remove()
    return Kept(seeds, checkpoint)


def _file(key: str, seeds: Sequence[int]) -> Path:
    text = "-".join(map(str, seeds))
    short = text if len(text) <= LONGEST else hashlib.sha256(text.encode()).hexdigest()
    return FOLDER / f"{key}-{short}.sdsl"


def _larger(key: str, wanted: set[int]) -> list[tuple[int, ...]]:
    """The seeds of checkpoints that hold all wanted seeds and more, the fewest first."""
    names = [file.stem.removeprefix(f"{key}-").split("-") for file in FOLDER.glob(f"{key}-*.sdsl")]
    found = [tuple(map(int, name)) for name in names if all(part.isdecimal() for part in name)]
    return sorted((seeds for seeds in found if wanted < set(seeds)), key=len)
