"""An MLflow client that waits for a locked database or a restarting server."""

import logging
import os
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from sdsl.errors import UserError
from sdsl.interrupt import shielded
from sdsl.tracking import database, moved
from sdsl.tracking.address import shown, sqlite_file
from sdsl.tracking.postgres import is_postgres, made_by_one
from sdsl.tracking.store_errors import explained, may_pass, refused

T = TypeVar("T")
PATIENCE = 120.0  # seconds to wait for a locked or restarting store

os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")  # the waiting is done here
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
for name in (
    "mlflow",
    "alembic",
):  # they narrate every step, and print errors that are handled here
    logging.getLogger(name).setLevel(logging.CRITICAL)


class PatientClient:
    """MlflowClient, each call tried again with backoff while the store is locked or away.

    A database that is not there yet is made first.
    """

    def __init__(self, uri: str):
        self.uri, self.patience = uri, PATIENCE
        if file := sqlite_file(uri):
            database.prepare(file)
        try:
            self._client = self._patiently(self._open)
        except (MlflowException, SQLAlchemyError) as error:
            raise refused(error, uri) from None
        except ModuleNotFoundError as error:  # the driver of a database
            raise UserError(
                f"The MLflow store {shown(uri)} needs the Python package {error.name}. Install it, "
                "or write postgresql+psycopg2:// and pip install 'sdsl[cluster]'."
            ) from None

    def _open(self) -> MlflowClient:
        if not is_postgres(self.uri):
            return MlflowClient(self.uri)
        with made_by_one(self.uri):
            return MlflowClient(self.uri)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)
        return lambda *args, **kwargs: self._patiently(lambda: method(*args, **kwargs))

    def _patiently(self, call: Callable[[], T]) -> T:
        start, pause = time.monotonic(), 0.05
        while True:
            try:
                with shielded():
                    return call()
            except Exception as error:
                if not may_pass(error) or time.monotonic() + pause > start + self.patience:
                    if sentence := explained(error, self.uri):
                        raise sentence from None
                    raise
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2 * pause, 5.0)


def experiment_id(client: PatientClient, name: str) -> str:
    """The experiment of that name, made if it is not there."""
    try:
        known = client.get_experiment_by_name(name)
        return known.experiment_id if known else _create_experiment(client, name)
    except MlflowException as error:
        raise refused(error, client.uri) from None


def _create_experiment(client: PatientClient, name: str) -> str:
    """Of a database here the files are here too; of a server they are where it puts them."""
    server = client.uri.startswith("http")
    here, file = moved.USUAL.absolute(), sqlite_file(client.uri)
    tags = {moved.PLACE: moved.place(file, here)} if file else {}
    try:
        return client.create_experiment(name, None if server else here.as_uri(), tags)
    except MlflowException:
        if (known := client.get_experiment_by_name(name)) is None:
            raise
        return known.experiment_id  # another process was faster
