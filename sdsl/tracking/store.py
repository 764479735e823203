"""An MLflow store and one experiment in it, used by several processes at once.

A new SQLite database is made by one process, complete or not at all: MLflow needs some fifty steps,
and a kill between two of them would leave a file that no command can open. Locks are files, freed
by the system when their process dies.
"""

import hashlib
import logging
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import shorten
from typing import Any, cast
from urllib.parse import urlparse
from urllib.request import url2pathname

from filelock import FileLock, Timeout
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from sdsl.config.compose import user_cache
from sdsl.errors import UserError
from sdsl.tracking.address import masked, shown, sqlite_file, store_uri

OPENING, WORKING = 15.0, 120.0  # seconds to wait for a store that is locked or away
START = "Start with: python -m sdsl.run +sweeps=smoke"
ELSEWHERE = "or choose another store with tracking.uri=..."
# Waiting may help: a lock, a row that another process adds at this moment, a restarting server.
PASSING = ("is locked", "unique constraint", "error code 5", "failed with exception", "timed out")
BROKEN = ("OperationalError", "DatabaseError")  # raised by a database whose file or disk is bad

os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")  # the waiting is done here
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
for noisy in ("mlflow", "alembic"):  # they narrate every step, and errors that are handled here
    logging.getLogger(noisy).setLevel(logging.CRITICAL)


class Store:
    """Database and experiment; both are made if they are not there, unless create=False."""

    def __init__(self, uri: str | None, experiment: str, create: bool = True):
        self.uri, self.experiment = store_uri(uri), experiment
        name, self.artifacts = hashlib.sha256(self.uri.encode()).hexdigest()[:16], None
        self.locks = Path(user_cache(), "locks", name)
        if file := sqlite_file(self.uri):
            self.locks, self.artifacts = (file.parent / "outputs" / n for n in ("locks", "mlruns"))
            if create and not _exists(file):
                self._make_database(file)
        patient = PatientClient(self.uri)
        self.client = cast(MlflowClient, patient)
        self.experiment_id = self._experiment_id(create)
        patient.patience = WORKING

    @contextmanager
    def lock(
        self, name: str, wait: bool = True, waiting: Callable[[], object] = lambda: None
    ) -> Iterator[None]:
        """For one process of this machine at a time; the system frees it when that process dies.

        `waiting` is called once if another process holds it; filelock.Timeout if wait=False.
        """
        file = self.locks / f"{name}.lock"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = f"{file.parent} cannot be made ({error.strerror}). Start the command elsewhere"
            raise UserError(f"{text}, {ELSEWHERE}") from None
        lock = FileLock(file)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            if not wait:
                raise
            waiting()
            lock.acquire(poll_interval=0.2)
        try:
            yield
        finally:
            file.unlink(missing_ok=True)  # while it is held: filelock takes no unlinked file
            lock.release()

    def _make_database(self, file: Path) -> None:
        with self.lock("database"):
            if _exists(file):  # made by another process while this one waited
                return
            folder = tempfile.mkdtemp(prefix=f".{file.name}.new-", dir=file.parent)
            try:
                complete = Path(folder, file.name)
                MlflowClient(f"sqlite:///{complete}").search_experiments()
                os.replace(complete, file)
            except Exception as error:
                raise explained(error, self.uri) from None
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def _experiment_id(self, create: bool) -> str:
        try:
            known = self.client.get_experiment_by_name(self.experiment)
            if known is None and create:  # artifacts of a file lie beside it
                place = self.artifacts.as_uri() if self.artifacts else None
                with suppress(MlflowException):  # another process was faster
                    self.client.create_experiment(self.experiment, place)
                known = self.client.get_experiment_by_name(self.experiment)
        except Exception as error:  # on opening, any error is caused by the store
            raise explained(error, self.uri) from None
        if known is None:
            raise UserError(f"{shown(self.uri)} has no experiment '{self.experiment}'. {START}")
        if known.lifecycle_stage == "deleted":
            restore = f"`mlflow experiments restore --experiment-id {known.experiment_id}`"
            raise UserError(
                f"The experiment '{self.experiment}' was deleted. Restore it: {restore}"
            )
        there = local_path(known.artifact_location)
        if self.artifacts and there and there != self.artifacts and not there.exists():
            raise UserError(
                f"The store {shown(self.uri)} was moved: MLflow looks for the files of its runs in "
                f"{there}. Make a link there: ln -s {self.artifacts} {there}"
            )
        return known.experiment_id


class PatientClient:
    """MlflowClient, each call tried again while the store is locked or away."""

    def __init__(self, uri: str):
        self.uri, self.patience = uri, OPENING
        if (file := sqlite_file(uri)) and not _exists(file):  # MLflow would make an empty one
            raise UserError(f"There is no store {file}. {START}")
        try:
            if file:
                file.open("rb").close()  # MLflow tries for minutes to open one that it may not read
            self._client = self._patiently(lambda: MlflowClient(uri))
        except Exception as error:
            raise explained(error, uri) from None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)
        return lambda *args, **kwargs: self._patiently(lambda: method(*args, **kwargs))

    def _patiently(self, call: Callable[[], Any]) -> Any:
        end, pause = time.monotonic() + self.patience, 0.05
        while True:
            try:
                return call()
            except Exception as error:
                if not _may_pass(error) and not any(sign in str(error) for sign in BROKEN):
                    raise
                if not _may_pass(error) or time.monotonic() + pause > end:
                    raise explained(error, self.uri) from None
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2 * pause, 5.0)


def local_path(uri: str) -> Path | None:
    """The folder of an artifact address on this machine's file system; else None."""
    parsed = urlparse(uri)
    return Path(url2pathname(parsed.path)) if parsed.scheme in ("", "file") else None


def explained(error: Exception, uri: str) -> UserError:
    """One sentence for an error whose cause is the store."""
    if isinstance(error, UserError):
        return error
    why, place = shorten(masked(error), 300).rstrip("."), shown(uri)
    if isinstance(error, ModuleNotFoundError):  # the driver of a database
        text = f"needs the Python package {error.name}."
    elif _may_pass(error):
        text = f"does not answer: {why}. Once it does, the same command goes on from here."
    else:
        text = (
            f"cannot be used: {why}. Is it a database that you can write to, is its disk full? "
            f"If another MLflow made it, copy it and run `mlflow db upgrade {place}`, {ELSEWHERE}"
        )
    return UserError(f"The MLflow store {place} {text}")


def _exists(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _may_pass(error: Exception) -> bool:
    if getattr(error, "error_code", "") == "RESOURCE_ALREADY_EXISTS":  # it will not go away
        return False
    return any(sign in str(error).lower() for sign in PASSING)
