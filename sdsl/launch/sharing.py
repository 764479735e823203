"""Seeds of a job, when other processes may want them too: train what is free, wait for the rest."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sdsl.launch.screen import Quiet
from sdsl.tracking.provenance import JobTags
from sdsl.tracking.records import Entry

if TYPE_CHECKING:  # the reason is in sdsl/launch/__init__.py
    from sdsl.tracking.ledger import Ledger
    from sdsl.tracking.process import Process

PAUSES = (0.1, 2.0)  # seconds between two looks at runs that others make: at first, at most


class Held(Exception):
    """Other processes make what this job lacks; it is put off."""


def obtain(
    ledger: "Ledger",
    group: str,
    keys: Mapping[int, str],
    train: Callable[[Sequence[int]], dict[int, Entry]],
    tags: JobTags,
    screen: Quiet,
) -> tuple[dict[int, Entry], int]:
    """The finished run of every seed in {seed: run_key}, and how many of them were made here.

    `train` gets the seeds that nobody makes; those that it could not claim it leaves out.
    """
    entries, computed = ledger.finished(group), 0
    taken = len(ledger.claims.adopted)
    said: dict[int, Process] = {}
    while missing := {seed: key for seed, key in keys.items() if seed not in entries}:
        held = ledger.holders(group, missing, tags)
        if free := [seed for seed in missing if seed not in held]:
            made = train(free)
            computed += len(made)
            entries |= made
        elif not tags.waits:
            raise Held(who(held))
        else:
            if held != said:
                screen.line(f"{who(held)}: waiting for it")
                screen.stage("waiting for another process")
            said = held
            wait(partial(ledger.holders, group, missing, tags), held)
        if names := ledger.claims.adopted[taken:]:
            screen.line(adopted(names))
            taken += len(names)
        if not keys.keys() <= entries.keys():
            entries = ledger.finished(group) | entries
    return {seed: entries[seed] for seed in keys}, computed


def wait(look: Callable[[], object], seen: object) -> None:
    """Until a look shows something else than what was seen."""
    pause, most = PAUSES
    while look() == seen:
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(1.5 * pause, most)


def who(held: Mapping[int, "Process"]) -> str:
    """'seed 0, 1 is made by process 123 on this host'."""
    makers = sorted({f"process {maker.pid} on {maker.host}" for maker in held.values()})
    seeds = ", ".join(map(str, sorted(held)))
    return f"{'seed' if len(held) == 1 else 'seeds'} {seeds} being made by {' and '.join(makers)}"


def adopted(names: Sequence[str]) -> str:
    """What to say of runs whose process was found dead."""
    few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"taken over from processes that have ended: {few} (now KILLED)"
