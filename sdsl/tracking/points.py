"""Curves as points in the store: few enough of them, in as few calls as MLflow allows."""

import time

import numpy as np
from mlflow.entities import Metric, Param

from sdsl.tracking.client import PatientClient

BATCH = 1000  # MLflow's limits on one call: this many values, of them PARAMS params
PARAMS = 100
MOST = 1000  # points of one curve; a longer one is thinned, curves.csv has every step


def at_start(name: str, value: float) -> Metric:
    """A number of the whole run: at step 0, so that `mlflow ui` draws bars."""
    return Metric(name, float(value), int(time.time() * 1000), 0)


def points(name: str, values: np.ndarray, first_step: int = 1, most: int = MOST) -> list[Metric]:
    """A curve without its gaps; where points are scarce, a constant one has two."""
    values, now = np.asarray(values, float), int(time.time() * 1000)
    known = np.flatnonzero(np.isfinite(values))
    if most < MOST and len(known) > 2 and np.ptp(values[known]) == 0:
        most = 2
    if len(known) > most:
        known = known[np.linspace(0, len(known) - 1, max(2, most)).round().astype(int)]
    return [Metric(name, float(values[i]), now, int(i) + first_step) for i in known]


def log(client: PatientClient, run_id: str, points: list[Metric], params: list[Param]) -> None:
    """One call where it fits."""
    room = BATCH - min(len(params), PARAMS)
    client.log_batch(run_id, metrics=points[:room], params=params[:PARAMS])
    for at in range(room, len(points), BATCH):
        client.log_batch(run_id, metrics=points[at : at + BATCH])
    for at in range(PARAMS, len(params), PARAMS):
        client.log_batch(run_id, params=params[at : at + PARAMS])
