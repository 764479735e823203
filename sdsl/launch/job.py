"""One job: a config and its seeds -> check, load, skip what the ledger holds, run, log."""

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue

from sdsl.config.help import config_folders, refuse_duplicates
from sdsl.config.identity import SCREEN
from sdsl.errors import UserError
from sdsl.launch import checkpoints
from sdsl.launch.screen import Bar, Quiet
from sdsl.launch.sharing import adopted, obtain
from sdsl.launch.summary import print_summary
from sdsl.launch.types import JobReport
from sdsl.tracking.provenance import ALONE, JobTags
from sdsl.tracking.records import Entry, Group

if TYPE_CHECKING:  # the reason is in sdsl/launch/__init__.py
    from sdsl.config.schema import Setup
    from sdsl.core.stream import Stream
    from sdsl.core.table import Table
    from sdsl.tracking.ledger import Ledger


class PastHydra(BaseException):
    """Carries an error of a single run to the command: Hydra would print the whole line first."""

    def __init__(self, error: Exception):
        self.error = error


def task(config: DictConfig, tags: JobTags = ALONE, screen: Quiet | None = None) -> JobReport:
    """What Hydra calls, here or in a worker."""
    if HydraConfig.get().mode != RunMode.RUN:
        return check_and_run(config, screen or Quiet(), tags)
    try:
        refuse_duplicates(config_folders(HydraConfig.get()))
        with Bar() as bar:
            report = check_and_run(config, bar, tags)
        print_summary([report], config.sort)
        return report
    except Exception as error:
        raise PastHydra(error) from None


def check_and_run(config: DictConfig, screen: Quiet, tags: JobTags) -> JobReport:
    screen.stage("loading torch and the data")
    from sdsl import experiment

    return run(experiment.setup(plain(config)), screen, tags)


def plain(config: DictConfig) -> dict[str, Any]:
    """The resolved config as a dict, without Hydra's own section."""
    try:
        parts = {str(key): config[key] for key in config if key != "hydra"}
        return {key: _resolved(part) for key, part in parts.items()}
    except MissingMandatoryValue as error:
        raise UserError(
            f"{error.full_key} has no value: set it with {error.full_key}=..."
        ) from None


def _resolved(part: Any) -> Any:
    if not OmegaConf.is_config(part):
        return part
    return OmegaConf.to_container(part, resolve=True, throw_on_missing=True)


def run(setup: "Setup", screen: Quiet, tags: JobTags = ALONE) -> JobReport:
    """Run and log the seeds of a setup that the ledger lacks."""
    from sdsl import experiment
    from sdsl.tracking import identity

    table = experiment.load(setup)
    screen.line(origin(table))
    for note in table.notes:
        screen.line(f"  {note}")
    # All that can be refused is refused here, before anything is recorded.
    stream = experiment.cut(setup, table, setup.seeds)
    if stream.left_out and table.standing == "own":
        screen.line(
            f"{stream.left_out} rows at the end are left out: they do not fill a segment of "
            f"{setup.dataset.segment_size}."
        )
    group = identity.describe(setup, table)
    screen.stage("opening the MLflow store")
    from sdsl.tracking.ledger import Ledger

    ledger = Ledger(setup.tracking.uri, setup.tracking.experiment)
    # A launcher adopts once for all its jobs.
    if tags == ALONE and (names := ledger.adopt_stale()):
        screen.line(adopted(names))
    keys = {seed: identity.run_key(group.group_key, seed) for seed in setup.seeds}

    def train(seeds: Sequence[int]) -> dict[int, Entry]:
        made: dict[int, Entry] = {}
        for some in [seeds] if setup.fuse else [[seed] for seed in seeds]:
            made |= record(ledger, setup, stream, group, some, tags, screen)
        return made

    if setup.force:
        entries = train(setup.seeds)
        computed = len(entries)
    else:
        entries, computed = obtain(ledger, group.group_key, keys, train, tags, screen)
    if setup.tracking.model:
        add_models(setup, stream, entries, ledger.uri, screen)
    # Where seeds are jobs of their own, the launcher does it when all of them are done.
    parent = ledger.complete(group.group_key) if setup.fuse or tags == ALONE else ""
    return JobReport(
        names=group.names,
        group=group.group_key,
        parent=parent,
        entries=[entries[seed] for seed in setup.seeds],
        computed=computed,
        data=origin(table),
        standing=table.standing,
        reads_labels=setup.method.labeler.privileged,
        uri=ledger.uri,
        experiment=ledger.experiment,
        notes=[adopted(taken)] if (taken := ledger.claims.adopted) else [],
    )


def record(
    ledger: "Ledger",
    setup: "Setup",
    stream: "Stream",
    group: Group,
    seeds: Sequence[int],
    tags: JobTags,
    screen: Quiet,
) -> dict[int, Entry]:
    """Train seeds side by side; each becomes a finished run of the ledger.

    Left out are those that another process has claimed meanwhile.
    """
    from sdsl import experiment
    from sdsl.core.thin import of_replica
    from sdsl.tracking import artifacts, confusion_files, identity, run_summary

    keys = {seed: identity.run_key(group.group_key, seed) for seed in seeds}
    entries: dict[int, Entry] = {}
    # The folder comes first: one that cannot be written is known before training.
    claimed = ledger.recording(group, keys, tags, share=not setup.force)
    with _scratch() as scratch, claimed as runs:
        if not setup.force:
            entries |= repeated(ledger, setup, stream.table, group, runs, Path(scratch), screen)
            runs = {seed: run_id for seed, run_id in runs.items() if seed not in entries}
        if not runs:
            return entries
        if list(runs) != list(stream.seeds):
            stream = experiment.cut(setup, stream.table, list(runs))
        screen.stage(group.name, stream.T)
        if thinned := setup.evaluation.thinned(stream.T):
            screen.line(f"R is thinned: {thinned} (eval.every, eval.columns)")
            for run_id in runs.values():
                ledger.client.set_tag(run_id, "R_thinned", thinned)
        kept = checkpoints.of_job(setup, group.group_key, stream.seeds, screen.line)
        if kept.seeds != stream.seeds:
            stream = experiment.cut(setup, stream.table, kept.seeds)
        trial = experiment.run_on(setup, stream, screen.step, kept.checkpoint)
        for seed in runs:
            s = stream.seeds.index(seed)
            classes, outcome = stream.table.classes, trial.outcome
            results = run_summary.summarise(outcome, trial.probed, s, classes)
            config = config_of(setup, [seed])
            title = f"{group.name} · seed {seed}"
            with tempfile.TemporaryDirectory(dir=scratch) as name:
                folder = Path(name)
                R, R_context = of_replica(outcome.R, s), outcome.R_context
                context = None if R_context is None else of_replica(R_context, s)
                curves, where = results.all_curves, origin(stream.table)
                artifacts.write(folder, R, curves, config, title, where, context)
                if stream.table.notes:
                    lines = "\n".join(stream.table.notes)
                    (folder / "columns.txt").write_text(f"{lines}\n", encoding="utf-8")
                counts = outcome.confusion[s], outcome.final_confusion[s]
                confusion_files.write(folder, *counts, classes, f"{title} · step {stream.T}")
                whole = ledger.log(runs[seed], config, results, folder)
            if whole:
                entries[seed] = Entry(seed, runs[seed], results.metrics)
    if kept.checkpoint:
        kept.checkpoint.remove()
    return entries


def repeated(
    ledger: "Ledger",
    setup: "Setup",
    table: "Table",
    group: Group,
    runs: Mapping[int, str],
    scratch: Path,
    screen: Quiet,
) -> dict[int, Entry]:
    """Seeds of which another config has the result: known to be equal, so not trained again."""
    from sdsl.tracking import twins

    entries: dict[int, Entry] = {}
    for seed, run_id in runs.items():
        if (twin := twins.find(ledger, group, seed)) is None:
            continue
        words = f"{group.name} · seed {seed}", origin(table)
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            into = config_of(setup, [seed]), table.classes, words, Path(folder)
            entries[seed] = twins.copy(ledger, twin, run_id, seed, *into)
        screen.line(f"seed {seed}: comes to the same as {twin.data.tags['variant']}, taken over")
    return entries


def add_models(
    setup: "Setup", stream: "Stream", entries: dict[int, Entry], uri: str, screen: Quiet
) -> None:
    """The final classifier of each run that has none yet, also of runs that were finished before.

    It is an addition to a finished run: whatever happens here, the run's results stay.
    """
    from sdsl import served

    for s, seed in enumerate(stream.seeds):
        run_id = entries[seed].run_id
        if not served.has_model(run_id, uri):
            screen.stage(f"model of seed {seed}", stream.T)
            step = partial(screen.step, online=entries[seed].metrics["acc_online"])
            model = served.final_model(setup, stream, s, step)
            served.log_model(model, served.example(stream, s), run_id, uri)
        screen.line(f"model of seed {seed}: runs:/{run_id}/{served.NAME}")


def config_of(setup: "Setup", seeds: Sequence[int]) -> dict[str, Any]:
    """The config as it is logged with these seeds.

    The store's address is left out: it may hold a password, and is no part of what was run.
    """
    tracking = {**setup.config["tracking"], "uri": None}
    kept = {key: value for key, value in setup.config.items() if key not in SCREEN}
    return {**kept, "seed": {"values": list(seeds)}, "tracking": tracking}


def origin(table: "Table") -> str:
    """Where the rows came from, for a line on the screen and under each figure."""
    return f"data {table.name}: {table.source}, {table.standing}, SHA-256 {table.sha256[:12]}"


def _scratch() -> "tempfile.TemporaryDirectory[str]":
    """For files on their way to the store; nothing of it stays."""
    folder = Path("outputs")
    folder.mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=".on-the-way-", dir=folder)
