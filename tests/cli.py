"""`python -m sdsl.run` inside the test's own process, and what it left in the ledger."""

import sys

from mlflow import MlflowClient

from sdsl import run
from sdsl.tracking.client import store_uri

TINY = ("method=st", "dataset=twonorm", "stream.max_segments=2", "learner.pretrain.steps=5")
SERIAL = "hydra.launcher.n_jobs=1"


def call(*words: str) -> int:
    """The exit status of a command line."""
    before, sys.argv = sys.argv, ["sdsl.run", *words]
    try:
        run.main()
    except SystemExit as stop:
        return stop.code or 0
    finally:
        sys.argv = before
    return 0


def runs(kind: str = "run", uri: str | None = None) -> list:
    """All runs of the experiment, whatever their status."""
    client = MlflowClient(store_uri(uri))
    experiment = client.get_experiment_by_name("sdsl")
    found = client.search_runs([experiment.experiment_id], f"tags.kind = '{kind}'")
    return sorted(found, key=lambda run: (run.info.run_name, run.info.start_time))


def status(kind: str = "run") -> dict[str, str]:
    """run name -> status; a name that stands twice is a run done twice."""
    found = [(run.info.run_name, run.info.status) for run in runs(kind)]
    assert len(dict(found)) == len(found), found
    return dict(found)
