"""Opens a deployment: a new one from gold, or the one that its folder holds."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from sdsl.config.registry import own_modules
from sdsl.config.suggest import suggest
from sdsl.core import state
from sdsl.datasets.columns import Plan, prepare
from sdsl.datasets.files import user_path
from sdsl.datasets.frames import read
from sdsl.datasets.inputs import find
from sdsl.errors import UserError
from sdsl.use.deployment import HIDDEN, STATE, Book, Deployment, book_from_plain
from sdsl.use.following import Following
from sdsl.use.gold import Gold, gold, ordered
from sdsl.use.method_config import method_config
from sdsl.use.settings import LabelSettings


@contextmanager
def opened(
    settings: LabelSettings, overrides: Mapping[str, Any], method: str
) -> Iterator[Deployment]:
    """The deployment of settings.out, for this process alone."""
    out = user_path(settings.out)
    config = method_config(method, overrides, settings.config_dir)
    found = gold(settings.gold, settings.label)  # refused before anything is made
    try:
        (out / HIDDEN).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"out={out}: cannot be made ({error.strerror}).") from None
    try:
        with FileLock(out / HIDDEN / "lock", timeout=0):
            for part in out.rglob(".*.part"):
                part.unlink(missing_ok=True)  # of a process that was killed
            if (out / HIDDEN / STATE).exists():
                yield _again(out, settings, config, found)
            else:
                yield _first(out, settings, overrides, method, config, found)
    except Timeout:
        raise UserError(f"Another sdsl.label is at work on out={out}. Wait, or stop it.") from None


def _must_stay(settings: LabelSettings, config: Mapping[str, Any]) -> dict[str, Any]:
    parts = ("method", "labeler", "replay", "lookback", "learner")
    chosen = {name: config[name] for name in parts} | {"scaler": config["stream"]["scaler"]}
    own = ("label", "seed", "segment_size", "drop", "use")
    return chosen | {name: getattr(settings, name) for name in own}


def _foreign(settings: LabelSettings, found: Gold) -> list[str]:
    """Columns to leave out that gold does not have, but a file that came later has."""
    foreign = [name for name in settings.drop if name not in found.rows.columns]
    unseen = set(foreign)
    for file in find(settings.files) if unseen else ():
        try:
            unseen -= set(read(file.path, settings.label).columns.columns)
        except UserError:  # it will be set aside
            continue
    if unseen:
        names = [name for name in found.rows.columns if name != settings.label]
        name = min(unseen)
        raise UserError(f"There is no column '{name}' to drop. {suggest(name, names)}")
    return foreign


def _first(
    out: Path,
    settings: LabelSettings,
    overrides: Mapping[str, Any],
    method: str,
    config: Mapping[str, Any],
    found: Gold,
) -> Deployment:
    foreign = _foreign(settings, found)
    drop = [name for name in settings.drop if name not in foreign]
    plan = prepare(found.rows, settings.label, drop, settings.use)
    plan.ignored += foreign
    classes = ordered(found.labels)
    codes = np.array([classes.index(name) for name in found.labels])
    model = Following(config, plan.transform(found.rows), codes, classes, settings.seed)
    params = {
        "method": method,
        "seed": settings.seed,
        "overrides": dict(overrides) or None,
        "config_dir": settings.config_dir,
    }
    book = Book(uuid.uuid4().hex, _must_stay(settings, config), found.sha256(), found.taken)
    deployment = Deployment(out, book, plan, model, params, found.whole)
    deployment.save()
    return deployment


def _again(
    out: Path, settings: LabelSettings, config: Mapping[str, Any], found: Gold
) -> Deployment:
    file = out / HIDDEN / STATE
    held = state.load_state(file, own_modules(config))
    try:
        book = book_from_plain(held["deployment"])
        plan = Plan.from_plain(held["plan"])
        model = Following.from_plain(held["following"])
    except (KeyError, TypeError) as error:
        raise UserError(f"{file}: not the state of a deployment ({error}).") from None
    wanted = _must_stay(settings, config)
    was, is_now = book.settings["drop"], settings.drop
    if was != is_now:
        # What gold does not have, the model does not have either: it may be left out at any time.
        foreign = _foreign(settings, found)
        if [n for n in is_now if n not in foreign] == [n for n in was if n in found.rows.columns]:
            plan.ignored = [n for n in plan.ignored if n in found.rows.columns] + foreign
            book.settings["drop"] = is_now
            book.aside.clear()  # to be tried again
    for name, value in wanted.items():
        if book.settings.get(name) != value:
            was = book.settings.get(name)
            shown = f"{name}={was}" if not isinstance(was, dict) else f"another {name}"
            raise UserError(
                f"out={out} was begun with {shown}. Use the same settings, or another out=."
            )
    if book.gold_sha256 != found.sha256():
        raise UserError(f"out={out} was begun with other gold rows. Use another out= for these.")
    return Deployment(out, book, plan, model, held["params"], found.whole)
