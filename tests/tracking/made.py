"""A group, its trials and the runs they leave, made without training anything."""

import multiprocessing
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from sdsl.config import Names
from sdsl.core.engine import Outcome
from sdsl.core.rows import Table
from sdsl.experiment import Trial
from sdsl.tracking.identity import SECTIONS, Group
from sdsl.tracking.ledger import Finished, Ledger
from sdsl.tracking.store import Store

FORK = multiprocessing.get_context("fork")
CONFIG: dict[str, Any] = {
    **{name: {"number": 1} for name in SECTIONS},
    "labeler": {"_target_": "sdsl.labelers.none.NoLabels", "trust": {"overlap": 6}},
    "tracking": {"uri": "http://user:s3cr3t@host", "experiment": "sdsl"},
    "note": "hi",
    "tags": {"owner": "me", "method": "not mine"},
}
TAGS = {"method": "ours", "dataset": "spam", "variant": "ours (a=1)", "stream": "spam"}
TAGS |= {"setting": "", "source": "file spam.csv", "standing": "own", "code_sha256": "c" * 64}
TAGS |= {"data_sha256": "d" * 64, "stream_sha256": "5" * 64}
TAGS |= {"rows": "500", "features": "5", "classes": "2"}


def group(key: str = "0", **tags: str) -> Group:
    names, key = Names("ours (a=1)", "spam", ""), key * 64
    return Group(CONFIG, names, key, TAGS | {"group_key": key} | tags)


def trial(seed: int = 0, T: int = 4) -> Trial:
    """Row 0 of R is the model after gold. Step 2 has no pseudo-labels."""
    rng = np.random.default_rng(seed)
    R, K = rng.random((T + 1, T)).round(2), rng.integers(1, 9, (T, 2, 2))
    curves = {name: rng.random(T) for name in ("test_acc", "test_acc_relabelled", "loss_fit")}
    curves["pseudo_label_acc"] = np.array([0.5, np.nan, *rng.random(T - 2)])
    seconds = {"train": 2.0, "label": 1.0, "eval": 0.5}
    table = Table("spam", np.zeros((1, 1)), np.zeros(1), ("a",), "", "own", "", notes=("a note",))
    outcome: Any = Outcome(R, curves, seconds, None, None, K, K)  # type: ignore[arg-type]
    stream: Any = type("Stream", (), {"table": table})
    return Trial(stream, outcome, {"flatness": np.arange(6.0)})


def ledger(uri: str | None = None) -> Ledger:
    return Ledger(Store(uri, "sdsl"))


def record(ledger: Ledger, *seeds: int, of: Group | None = None, **how: Any) -> list[Finished]:
    """Finished runs of these seeds; their parent is brought up to date."""
    of, made = of or group(), []
    for seed in seeds:
        with ledger.recording(of, seed, **how) as run_id:
            assert run_id is not None
            made.append(ledger.log(run_id, of, seed, trial(seed)))
    ledger.update_parent(of)
    return made


def runs(ledger: Ledger, kind: str = "run") -> list[Any]:
    """All runs, the oldest first."""
    place, order = [ledger.store.experiment_id], ["attributes.start_time ASC"]
    return list(ledger.client.search_runs(place, f"tags.kind = '{kind}'", 1, 1000, order))


def together(function: Callable[..., object], *each: tuple[Any, ...]) -> list[int]:
    """Exit codes of processes that call function(uri, *arguments) at the same moment.

    They are forked, as importing MLflow takes seconds. Their address of ./mlflow.db is another than
    the parent's, whose open connections they must not use.
    """
    ready, uri = FORK.Barrier(len(each)), f"sqlite:///{os.getcwd()}/./mlflow.db"

    def work(arguments: tuple[Any, ...]) -> None:
        ready.wait()
        function(uri, *arguments)

    processes = [FORK.Process(target=work, args=(arguments,)) for arguments in each]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]
