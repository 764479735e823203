"""One job: config -> setup -> table -> for each seed: skip what the store holds, run, log.

The job returns Acc_t, the mean over its seeds, so that any sweeper can optimise it. In a sweep it
never raises: a failed run is FAILED in the store, and the job's report names the cause.
"""

import hashlib
import logging
import os
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from sdsl import interrupt
from sdsl.errors import ComponentError, UserError
from sdsl.launch.compiling import announced
from sdsl.launch.report import Report, Reporter, sweep_id
from sdsl.tracking import provenance
from sdsl.tracking.address import masked

if TYPE_CHECKING:  # torch and MLflow take seconds, and --help should not
    from sdsl.config import Setup
    from sdsl.tracking.ledger import Finished

CHECKPOINTS = Path("outputs", "checkpoints")
log = logging.getLogger(__name__)


def task(config: DictConfig) -> float:
    """The function that Hydra calls, here or in a worker."""
    interrupt.end_with_command()
    hydra = HydraConfig.get()
    if os.path.isdir(hydra.runtime.cwd):
        os.chdir(hydra.runtime.cwd)  # a Ray worker may have been started elsewhere
    alone, words = hydra.mode == RunMode.RUN, list(hydra.overrides.task)
    folder, number, tags = Path(hydra.run.dir), 0, {"output_dir": hydra.runtime.output_dir}
    if not alone:
        folder, number = Path(hydra.sweep.dir), hydra.job.num
        tags |= {"sweep": sweep_id(folder), "job": str(number)}
    tell = Reporter(folder, Report(number, masked(" ".join(words))))
    try:
        tell(stage="loading torch and the data")
        from sdsl.config import setup

        accuracy = Job(setup(plain(config), words), tell, tags).run()
        tell(ended=True)
        return accuracy
    except Exception as error:
        cause = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        log.error(masked(cause), exc_info=not isinstance(error, UserError))
        tell(ended=True, failure=masked(cause))
        if alone:
            raise
        return float("nan")


def plain(config: DictConfig) -> dict[str, Any]:
    """The resolved config as a dict, without Hydra's own section."""
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    return OmegaConf.to_container(own, resolve=True)  # type: ignore[return-value]


class Job:
    """A setup, its data and its place in the store."""

    def __init__(self, setup: "Setup", tell: Reporter, tags: dict[str, str]):
        from sdsl import experiment
        from sdsl.tracking.identity import describe
        from sdsl.tracking.ledger import Ledger
        from sdsl.tracking.store import Store

        self.setup, self.tell, self.tags = setup, tell, tags
        self.failures: list[Exception] = []
        self.table = table = experiment.load(setup)
        about = f"{table.source}, {table.standing}, SHA-256 {table.sha256[:12]}"
        for note in (f"data {table.name}: {about}", *table.notes):
            self.say(note)
        for seed in setup.seeds:
            experiment.cut(setup, table, seed)  # refused before anything is recorded
        tell(stage="opening the MLflow store", seeds=len(setup.seeds))
        self.group = describe(setup, table)
        self.store = Store(setup.tracking.uri, setup.tracking.experiment)
        self.ledger = Ledger(self.store)
        if "sweep" not in tags:
            for name in self.ledger.stale():
                self.say(f"its process was killed earlier: {name}")

    def say(self, text: str) -> None:
        """A line for the log and the screen."""
        log.info(text)
        self.tell(notes=[*self.tell.report.notes, text])

    def run(self) -> float:
        """Run and log the seeds that the store lacks; the mean Acc_t of all."""
        setup, tell, group = self.setup, self.tell, self.group
        finished = {} if setup.force else self.ledger.finished(group)
        row = {**vars(group.names), "standing": self.table.standing, "group_key": group.group_key}
        row["reads_labels"] = setup.method.labeler.privileged
        tell(row=row | {"experiment": self.store.experiment_id})
        for seed in setup.seeds:
            try:
                if seed not in finished:
                    finished[seed] = self.record(seed)
                run = {"seed": seed, "metrics": finished[seed].metrics}
                tell(runs=[*tell.report.runs, run])
            except Exception as error:  # of this seed; the others are run all the same
                if isinstance(error, UserError) and not isinstance(error, ComponentError):
                    raise
                log.exception("seed %d failed", seed)
                self.failures.append(error)
            tell(done=tell.report.done + 1, t=0)
        tell(row=tell.report.row | {"parent": self.ledger.update_parent(group)})
        if setup.tracking.model:
            self.add_models(finished)
        if self.failures:
            raise self.failures[0]
        return fmean(finished[seed].metrics["acc_online"] for seed in setup.seeds)

    def record(self, seed: int) -> "Finished":
        """Run a seed and log it, unless another process finishes it meanwhile."""
        from sdsl import experiment
        from sdsl.core.state import Checkpoint
        from sdsl.tracking.identity import run_key

        setup, group, seconds = self.setup, self.group, self.setup.checkpoint.seconds
        waiting = partial(self.say, f"waiting for another process that runs seed {seed}")
        with self.ledger.recording(group, seed, self.tags, setup.force, waiting) as run_id:
            if run_id is None:
                return self.ledger.finished(group)[seed]
            T = experiment.cut(setup, self.table, seed).T
            self.tell(stage=f"{group.names} · seed {seed}", t=0, T=T)
            # Another CPU may round differently: a run that it began is not continued here.
            words = f"{run_key(group.group_key, seed)} {provenance.tags()['cpu']}"
            key = hashlib.sha256(words.encode()).hexdigest()[:32]
            file = CHECKPOINTS / f"{key}.safetensors"
            checkpoint = Checkpoint(file, key, seconds, self.say)
            if setup.force or seconds is None:
                checkpoint.remove()
            with announced(self.say):
                trial = experiment.run(setup, seed, self.table, self.tell.step, checkpoint)
            made = self.ledger.log(run_id, group, seed, trial)
            checkpoint.remove()
        if trial.failure:  # the run is kept
            self.failures.append(trial.failure)
        self.tell(computed=self.tell.report.computed + 1)
        log.info("%s · seed %d: %s", group.names, seed, made.metrics)
        return made

    def add_models(self, finished: "dict[int, Finished]") -> None:
        """The final classifier of each run that has none yet, also of earlier runs."""
        from sdsl import experiment
        from sdsl.use import served

        for seed, one in finished.items():
            if seed in self.setup.seeds and not served.has_model(one.run_id, self.store.uri):
                stream = experiment.cut(self.setup, self.table, seed)
                self.tell(stage=f"model of seed {seed}", t=0, T=stream.T)
                step = partial(self.tell.step, online=one.metrics["acc_online"])
                model = served.final_model(self.setup, stream, step)
                served.log_model(model, served.example(stream), one.run_id, self.store.uri)
                self.say(f"model of seed {seed}: runs:/{one.run_id}/model")
