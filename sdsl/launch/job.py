"""One job: config -> setup -> table -> for each seed: skip what the store holds, run, log.

The job returns Acc_t, the mean over its seeds, so that any sweeper can optimise it. In a sweep it
never raises: a failed run is FAILED in the store, and the job's report names the cause.
"""

import hashlib
import logging
import os
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from sdsl import interrupt
from sdsl.errors import UserError
from sdsl.launch.report import Report, Reporter
from sdsl.tracking import provenance
from sdsl.tracking.address import masked

if TYPE_CHECKING:  # torch and MLflow take seconds, and --help should not
    from sdsl.config import Setup
    from sdsl.core.rows import Table
    from sdsl.tracking.identity import Group
    from sdsl.tracking.ledger import Finished, Ledger

CHECKPOINTS = Path("outputs", "checkpoints")
SHOWN = ("acc_online", "acc_final", "balanced_acc_online", "class_imbalance", "lasting_swap")
log = logging.getLogger(__name__)


def task(config: DictConfig) -> float:
    """The function that Hydra calls, here or in a worker."""
    interrupt.end_with_command()
    hydra = HydraConfig.get()
    if os.path.isdir(hydra.runtime.cwd):
        os.chdir(hydra.runtime.cwd)  # a Ray worker may have been started elsewhere
    alone = hydra.mode == RunMode.RUN
    folder = Path(hydra.run.dir if alone else hydra.sweep.dir)
    words = list(hydra.overrides.task)
    number = 0 if alone else hydra.job.num
    tell = Reporter(folder, Report(number, masked(" ".join(words))))
    tags = {"output_dir": hydra.runtime.output_dir}
    tags |= {} if alone else {"sweep": sweep_id(folder), "job": str(number)}
    try:
        tell(stage="loading torch and the data")
        from sdsl.config import setup

        accuracy = run(setup(plain(config), words), tell, tags)
        tell(ended=True)
        return accuracy
    except Exception as error:
        cause = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        log.exception("The job failed.")
        tell(ended=True, failure=masked(cause))
        if alone:
            raise
        return float("nan")


def plain(config: DictConfig) -> dict[str, Any]:
    """The resolved config as a dict, without Hydra's own section."""
    own = OmegaConf.masked_copy(config, [key for key in config if key != "hydra"])
    return OmegaConf.to_container(own, resolve=True)  # type: ignore[return-value]


def sweep_id(folder: Path) -> str:
    """The tag of a sweep's runs: '2026-11-18/22-30-01-123456'."""
    return "/".join(folder.parts[-2:])


def run(setup: "Setup", tell: Reporter, tags: dict[str, str]) -> float:
    """Run and log the seeds of a setup that the store lacks; the mean Acc_t of all."""
    from sdsl import experiment
    from sdsl.tracking.identity import describe
    from sdsl.tracking.ledger import Ledger
    from sdsl.tracking.store import Store

    def say(text: str) -> None:
        log.info(text)
        tell.note(text)

    table = experiment.load(setup)
    for line in (origin(table), *table.notes):
        say(line)
    group = describe(setup, table)
    for seed in setup.seeds:
        experiment.cut(setup, table, seed)  # refused before anything is recorded
    tell(stage="opening the MLflow store", seeds=len(setup.seeds))
    store = Store(setup.tracking.uri, setup.tracking.experiment)
    ledger = Ledger(store)
    if "sweep" not in tags:
        for name in ledger.stale():
            say(f"killed earlier, now marked so: {name}")
    finished = {} if setup.force else ledger.finished(group)
    failures: dict[int, Exception] = {}
    row = {**vars(group.names), "standing": table.standing, "group_key": group.group_key}
    row |= {"reads_labels": setup.method.labeler.privileged, "experiment": store.experiment_id}
    tell(row=row)
    for seed in setup.seeds:
        if seed not in finished:
            try:
                made = record(setup, seed, table, group, ledger, tell, say, tags)
                finished |= ledger.finished(group) if made is None else {seed: made}
            except UserError:
                raise
            except Exception as error:
                log.exception("Seed %d failed.", seed)
                failures[seed] = error
        if seed in finished:
            tell(runs=[*tell.report.runs, shown(finished[seed])])
        tell(done=tell.report.done + 1, t=0)
    tell(row={**row, "parent": ledger.update_parent(group)})
    if setup.tracking.model:
        add_models(setup, table, finished, store.uri, tell, say)
    for seed, error in failures.items():
        error.add_note(f"seed {seed}")
        raise error
    return fmean(finished[seed].metrics["acc_online"] for seed in setup.seeds)


def record(
    setup: "Setup",
    seed: int,
    table: "Table",
    group: "Group",
    ledger: "Ledger",
    tell: Reporter,
    say: Any,
    tags: dict[str, str],
) -> "Finished | None":
    """Run a seed and log it; None if another process has finished it meanwhile."""
    from sdsl import experiment
    from sdsl.core.checkpoint import Checkpoint
    from sdsl.tracking.identity import run_key

    def waiting() -> None:
        say(f"seed {seed} is being made by another process: waiting for it")

    with ledger.recording(group, seed, tags, setup.force, waiting) as run_id:
        if run_id is None:
            return None
        T = experiment.cut(setup, table, seed).T
        tell(stage=f"{group.names} · seed {seed}", t=0, T=T)
        # Another CPU may round differently: a run that it began is not continued here.
        words = f"{run_key(group.group_key, seed)} {provenance.tags()['cpu']}"
        key = hashlib.sha256(words.encode()).hexdigest()[:32]
        checkpoint = None
        if setup.checkpoint.seconds is not None:
            file = CHECKPOINTS / f"{key}.safetensors"
            checkpoint = Checkpoint(file, key, setup.checkpoint.seconds, say)
            if setup.force:
                checkpoint.remove()
        trial = experiment.run(setup, seed, table, tell.step, checkpoint)
        made = ledger.log(run_id, group, seed, trial)
        if checkpoint:
            checkpoint.remove()
    tell(computed=tell.report.computed + 1)
    log.info("%s · seed %d: Acc_t %.4f", group.names, seed, made.metrics["acc_online"])
    return made


def add_models(
    setup: "Setup",
    table: "Table",
    finished: "dict[int, Finished]",
    uri: str,
    tell: Reporter,
    say: Any,
) -> None:
    """The final classifier of each run that has none yet, also of earlier runs."""
    from sdsl import experiment
    from sdsl.use import served

    for seed in setup.seeds:
        run_id = finished[seed].run_id
        if not served.has_model(run_id, uri):
            stream = experiment.cut(setup, table, seed)
            tell(stage=f"model of seed {seed}", t=0, T=stream.T)
            model = served.final_model(setup, stream, seed, tell.step)
            served.log_model(model, served.example(stream), run_id, uri)
        say(f"model of seed {seed}: runs:/{run_id}/model")


def shown(one: "Finished") -> dict[str, Any]:
    """The part of a finished run that the table shows."""
    metrics = {name: one.metrics[name] for name in SHOWN if name in one.metrics}
    return {"seed": one.seed, "run_id": one.run_id, "metrics": metrics}


def origin(table: "Table") -> str:
    """Where the rows came from, for a line on the screen."""
    return f"data {table.name}: {table.source}, {table.standing}, SHA-256 {table.sha256[:12]}"
