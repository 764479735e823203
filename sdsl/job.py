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

from sdsl import choices, identity
from sdsl.errors import UserError

if TYPE_CHECKING:  # torch and MLflow take seconds to load: --help must not pay for them
    from sdsl.table import Table
    from sdsl.tracking import Entry


@dataclass(frozen=True)
class Report:
    """What a job hands to the table at the end of a sweep."""

    method: str
    dataset: str
    group: str
    entries: "list[Entry]"
    fresh: int  # how many of them ran now; the rest were in the ledger
    data: str  # source, SHA-256 and standing of the rows, in words
    standing: str
    uri: str


def task(config: DictConfig) -> Report:
    """What Hydra calls, here or in a worker."""
    from sdsl import progress

    alone = HydraConfig.get().mode == RunMode.RUN
    try:
        choices.refuse_duplicates(choices.roots())
        report = run(plain(config), progress.Bar() if alone else progress.Quiet())
    except UserError as error:
        if not alone:
            raise
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    if alone:
        progress.summary([report])
    return report


def plain(config: DictConfig) -> dict[str, Any]:
    return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)


def run(config: Mapping[str, Any], watch) -> Report:
    """Run the seeds of a config that the ledger lacks."""
    watch.say("loading torch")
    from sdsl import experiment

    experiment.check(config)
    seeds = config["seed"]["values"]
    table = experiment.load(config)
    watch.line(told(table))
    watch.say("opening the MLflow store")
    from sdsl.tracking import Ledger

    ledger = Ledger(config["tracking"]["uri"], config["tracking"]["experiment"])
    stream_sha256 = experiment.digest(table)
    group = identity.group_key(config, stream_sha256)
    done = {} if config["force"] else ledger.finished(group)
    missing = [seed for seed in seeds if seed not in done]
    tags = {
        "method": config["method"]["name"],
        "dataset": table.name,
        "labeler": config["labeler"]["name"],
        "replay": config["replay"]["name"],
        "group_key": group,
        "data_sha256": table.sha256,
        "data_source": table.source,
        "data_standing": table.standing,
        "stream_sha256": stream_sha256,
        "code_sha256": identity.code_sha256(config),
    }
    name = f"{tags['method']} · {tags['dataset']}"
    for batch in [missing] if config["fuse"] else [[seed] for seed in missing]:
        if batch:
            keys = {seed: identity.run_key(group, seed) for seed in batch}
            with ledger.recording(name, tags, keys) as runs:
                _record(ledger, config, table, name, runs, watch)
    watch.stop()
    entries = ledger.finished(group)
    return Report(
        tags["method"],
        table.name,
        group,
        [entries[seed] for seed in seeds],
        len(missing),
        told(table),
        table.standing,
        ledger.uri,
    )


def _record(ledger, config, table: "Table", name: str, runs: dict[int, str], watch) -> None:
    from sdsl import artifacts, experiment, results

    watch.start(name, len(runs))
    stream, outcome, probed = experiment.run(config, list(runs), table, watch.step)
    for s, (seed, run_id) in enumerate(runs.items()):
        own = {**config, "seed": {"values": [seed]}}
        found = results.of(outcome, probed, s)
        with tempfile.TemporaryDirectory() as folder:
            artifacts.write(
                Path(folder),
                outcome.R[s, 1:],
                found.all_curves,
                own,
                f"{name} · seed {seed}",
                f"Data: {told(table)}",
            )
            ledger.log(run_id, own, found.metrics, found.curves, Path(folder))


def told(table: "Table") -> str:
    return f"{table.name}: {table.source}, {table.standing}, SHA-256 {table.sha256[:12]}"
