"""After `+sweeps=smoke`: every run is FINISHED with an R of the right shape, none is missing."""

import sys
from pathlib import Path

import numpy as np
from mlflow import MlflowClient

from sdsl.tracking.address import store_uri

METHODS = {path.stem for path in Path("conf/method").glob("*.yaml")}
DATASETS = {path.stem for path in Path("conf/dataset").glob("*.yaml")}
SEEDS, SEGMENTS = {"0", "1"}, 2

client = MlflowClient(store_uri(None))
experiment = client.get_experiment_by_name("sdsl")
found = client.search_runs([experiment.experiment_id], "tags.kind = 'run'", max_results=5000)
seen, wrong = set(), []
for run in found:
    tags = run.data.tags
    R = np.load(client.download_artifacts(run.info.run_id, "R.npy"), allow_pickle=False)
    whole = R.shape == (SEGMENTS, SEGMENTS) and np.isfinite(R).all()
    if run.info.status != "FINISHED" or not whole:
        wrong.append(f"{run.info.run_name}: {run.info.status}, R {R.shape}")
    seen.add((tags["method"], tags["dataset"], tags["seed"]))
expected = {(m, d, s) for m in METHODS for d in DATASETS for s in SEEDS}
wrong += [f"no run of {missing}" for missing in sorted(expected - seen)]
print("\n".join(wrong))
print(f"{len(found) - len(wrong)} passed, {len(wrong)} failed")
sys.exit(bool(wrong))
