"""One job: a config and its seeds -> check, load, skip what the ledger holds, run, log."""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue

import sdsl.plugins  # noqa: F401 - a worker that unpickles `task` then knows our plugins too
from sdsl.config import help as choices
from sdsl.errors import UserError

if TYPE_CHECKING:  # torch and MLflow take seconds to load: --help must not pay for them
    from sdsl.core.table import Table
    from sdsl.launch.screen import Quiet
    from sdsl.tracking.ledger import Entry, Ledger


@dataclass(frozen=True)
class Report:
    """What a job hands to the table at the end of a sweep."""

    method: str
    dataset: str
    group: str
    entries: "list[Entry]"
    fresh: int  # how many of them ran now; the rest were in the ledger
    data: str  # source, standing and SHA-256 of the rows, in words
    standing: str
    uri: str


def task(config: DictConfig) -> Report:
    """What Hydra calls, here or in a worker."""
    from sdsl.launch import screen as progress

    if HydraConfig.get().mode != RunMode.RUN:
        return run(plain(config), progress.Quiet())
    try:
        choices.refuse_duplicates(choices.roots(HydraConfig.get()))
        with progress.Bar() as watch:
            report = run(plain(config), watch)
    except UserError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None  # past Hydra, who would add its own words
    progress.summary([report])
    return report


def plain(config: DictConfig) -> dict[str, Any]:
    """The resolved config as a dict, without Hydra's own section."""
    own = OmegaConf.masked_copy(config, [key for key in config if key != "hydra"])
    try:
        return OmegaConf.to_container(own, resolve=True, throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise UserError(
            f"{error.full_key} has no value: set it with {error.full_key}=..."
        ) from None


def run(config: Mapping[str, Any], watch: "Quiet") -> Report:
    """Run and log the seeds of a config that the ledger lacks."""
    watch.stage("loading torch and the data")
    from sdsl import experiment
    from sdsl.tracking import identity

    experiment.check(config)
    table = experiment.load(config)
    watch.line(told(table))
    watch.stage("opening the MLflow store")
    from sdsl.tracking.ledger import Ledger

    ledger = Ledger(config["tracking"]["uri"], config["tracking"]["experiment"])
    tags = {
        "method": config["method"]["name"],
        "dataset": table.name,
        "labeler": config["labeler"]["name"],
        "replay": config["replay"]["name"],
        "data_sha256": table.sha256,
        "data_source": table.source,
        "data_standing": table.standing,
        "stream_sha256": experiment.digest(table),
        "code_sha256": identity.code_sha256(config),
    }
    group = tags["group_key"] = identity.group_key(config, tags["stream_sha256"])
    seeds = config["seed"]["values"]
    done = {} if config["force"] else ledger.finished(group)
    entries = {seed: done[seed] for seed in seeds if seed in done}
    missing = [seed for seed in seeds if seed not in done]
    for batch in [missing] if config["fuse"] else [[seed] for seed in missing]:
        if batch:
            entries |= _record(ledger, config, table, tags, batch, watch)
    return Report(
        method=tags["method"],
        dataset=table.name,
        group=group,
        entries=[entries[seed] for seed in seeds],
        fresh=len(missing),
        data=told(table),
        standing=table.standing,
        uri=ledger.uri,
    )


def _record(
    ledger: "Ledger",
    config: Mapping[str, Any],
    table: "Table",
    tags: Mapping[str, str],
    seeds: list[int],
    watch: "Quiet",
) -> "dict[int, Entry]":
    """Train the seeds side by side; each becomes a finished run of the ledger."""
    from sdsl import experiment
    from sdsl.tracking import artifacts, identity
    from sdsl.tracking import run_summary as results
    from sdsl.tracking.ledger import Entry

    name = f"{tags['method']} · {tags['dataset']}"
    keys = {seed: identity.run_key(tags["group_key"], seed) for seed in seeds}
    entries = {}
    with ledger.recording(name, tags, keys) as runs:
        watch.stage(name, length(config, table))
        _, outcome, probed = experiment.run(config, seeds, table, watch.step)
        for s, seed in enumerate(seeds):
            # The store's address may hold a password, and is no part of what was run.
            own = {**config, "seed": {"values": [seed]}}
            own["tracking"] = {**config["tracking"], "uri": None}
            found = results.of(outcome, probed, s)
            title = f"{name} · seed {seed}"
            with tempfile.TemporaryDirectory(dir=_scratch()) as folder:
                artifacts.write(
                    Path(folder), outcome.R[s, 1:], found.all_curves, own, title, told(table)
                )
                ledger.log(runs[seed], own, found.metrics, found.curves, Path(folder))
            entries[seed] = Entry(seed, runs[seed], found.metrics)
    return entries


def length(config: Mapping[str, Any], table: "Table") -> int:
    """About how many segments there are to come, for the bar."""
    whole = len(table.y) // config["dataset"]["segment_size"] - 1
    return min(whole, config["stream"]["max_segments"] or whole)


def _scratch() -> Path:
    folder = Path("outputs", "tmp")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def told(table: "Table") -> str:
    """Where the rows came from, for a line on the screen and under each figure."""
    return f"data {table.name}: {table.source}, {table.standing}, SHA-256 {table.sha256[:12]}"
