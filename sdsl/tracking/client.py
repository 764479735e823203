"""An MLflow client that waits: SQLite's lock, a server that restarts; and where the store is."""

import logging
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException, RestException

from sdsl.errors import UserError
from sdsl.interrupt import shielded

PATIENCE = 120.0  # seconds to wait for a locked or restarting store
LOCK = 60  # of them, inside SQLite's own busy handler

os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")  # the waiting is done here
for name in ("mlflow", "alembic"):  # they narrate the making of a database
    logging.getLogger(name).setLevel(logging.WARNING)


def store_uri(uri: str | None) -> str:
    """The configured store, or mlflow.db here; SQLite waits for its lock instead of giving up."""
    uri = uri or f"sqlite:///{Path('mlflow.db').absolute()}"
    waits = uri.startswith("sqlite:") and "timeout=" not in uri
    return f"{uri}{'&' if '?' in uri else '?'}timeout={LOCK}" if waits else uri


def connect(uri: str, experiment: str) -> tuple["PatientClient", str]:
    """(client, experiment id); the database and the experiment are made if they are not there."""
    try:
        client = PatientClient(uri)
        known = client.get_experiment_by_name(experiment)
        return client, known.experiment_id if known else _create(client, uri, experiment)
    except MlflowException as error:
        raise UserError(f"The MLflow store {uri.partition('?')[0]}: {error.message}") from None


def _create(client: "PatientClient", uri: str, experiment: str) -> str:
    where = Path("outputs", "mlruns").absolute().as_uri() if uri.startswith("sqlite:") else None
    try:
        return client.create_experiment(experiment, artifact_location=where)
    except MlflowException:
        if (known := client.get_experiment_by_name(experiment)) is None:
            raise
        return known.experiment_id  # another process was faster


class PatientClient:
    """MlflowClient, each call tried again with backoff while the store is locked or away."""

    def __init__(self, uri: str):
        self.patience = PATIENCE
        self._client = self._patiently(lambda: MlflowClient(uri))

    def __getattr__(self, name: str) -> Callable:
        method = getattr(self._client, name)
        return lambda *args, **kwargs: self._patiently(lambda: method(*args, **kwargs))

    def _patiently(self, call: Callable[[], Any]) -> Any:
        start, pause = time.monotonic(), 0.05
        while True:
            try:
                with shielded():
                    return call()
            except Exception as error:
                if not _passing(error) or time.monotonic() + pause > start + self.patience:
                    raise
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2 * pause, 5.0)


def _passing(error: Exception) -> bool:
    """Whether waiting may help: a lock, a server that is down or answers 5xx."""
    if isinstance(error, RestException):
        return error.get_http_status_code() >= 500
    if isinstance(error, requests.ConnectionError | requests.Timeout):
        return True
    text = str(error).lower()
    # MLflow's client words any broken connection as "API request to ... failed with exception".
    signs = ("is locked", "failed with exception", "max retries exceeded", "timed out")
    signs += ("connection refused", "error code 5")
    return any(sign in text for sign in signs)
