"""A run whose result is known before it runs: another config that comes to the same has finished.

Two configs come to the same where they differ in the method's name alone, or in settings of which
a component says that they have no effect on this stream (`reduces_to` in core/contract.py). Their
runs share the tag result_key, and the copy says which run its numbers are from: same_as.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mlflow.entities import Run, RunTag
from omegaconf import OmegaConf

from sdsl.tracking import artifacts, confusion_files, groups
from sdsl.tracking.records import Entry, Group

if TYPE_CHECKING:
    from sdsl.tracking.ledger import Ledger

MOST = 100  # runs that are looked at
PICTURES = ("R.png", "confusion.png")  # their titles name the run: drawn anew


def find(ledger: "Ledger", group: Group, seed: int) -> Run | None:
    """The first finished run of another group that comes to the same, its files whole."""
    if not group.result_key:
        return None
    found = ledger.client.search_runs(
        [ledger.experiment],
        f"tags.result_key = '{group.result_key}' and tags.seed = '{seed}' and tags.kind = 'run' "
        f"and tags.group_key != '{group.group_key}' and attributes.status = 'FINISHED'",
        max_results=MOST,
        order_by=["attributes.start_time ASC"],
    )
    # A copy is not copied again: all of them name the run that was trained.
    trained = [run for run in found if "same_as" not in run.data.tags]
    return next((run for run in trained if ledger.is_whole(run)), None)


def copy(
    ledger: "Ledger",
    twin: Run,
    run_id: str,
    seed: int,
    config: Mapping[str, Any],
    classes: tuple[str, ...],
    words: tuple[str, str],
    folder: Path,
) -> Entry:
    """The twin's numbers and files as those of run_id, under its own config and name.

    words: what stands above and below a picture.
    """
    client, theirs = ledger.client, twin.info.run_id
    for item in client.list_artifacts(theirs):
        if not item.is_dir and item.path not in (*PICTURES, "config.yaml"):
            client.download_artifacts(theirs, item.path, str(folder))
    (folder / "config.yaml").write_text(OmegaConf.to_yaml(dict(config)), encoding="utf-8")
    title, footnote = words
    artifacts.heat_map(folder / "R.png", np.load(folder / "R.npy"), title, footnote)
    if (counts := folder / confusion_files.COUNTS).exists():
        steps, last = np.load(counts)
        confusion_files.write(folder, steps, last, classes, title)
    points = [p for name in twin.data.metrics for p in client.get_metric_history(theirs, name)]
    tags = {"same_as": theirs, "same_as_variant": twin.data.tags["variant"]}
    client.log_batch(run_id, tags=[RunTag(*pair) for pair in tags.items()])
    ledger.write(run_id, points, config, folder)
    return Entry(seed, run_id, groups.entry(twin).metrics)
