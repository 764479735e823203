"""A new SQLite store is made whole or not at all; one that MLflow cannot use is refused.

MLflow makes its database in about fifty steps. A kill between two of them, or two first starts at
once, would leave a store that no command can open. So it is made in a folder beside its place,
under a lock, and renamed into place when it is complete.
"""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from filelock import FileLock, Timeout
from mlflow.store.db.base_sql_model import Base
from mlflow.store.tracking import DEFAULT_LOCAL_FILE_AND_ARTIFACT_PATH
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from sqlalchemy.exc import SQLAlchemyError

from sdsl.errors import UserError
from sdsl.tracking import moved
from sdsl.tracking.address import LOCK_SECONDS
from sdsl.tracking.store_errors import ELSEWHERE, UNUSABLE, refused

PATIENCE = 300  # seconds to wait for another process that makes the database


def prepare(file: Path) -> None:
    """Afterwards the file is a complete store, in its place: it was one, or it is made here."""
    file = file.absolute()
    lock = file.with_name(f".{file.name}.lock")
    try:
        if not _is_new(file):
            moved.follow(file)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, timeout=PATIENCE):
            if _is_new(file):  # nobody else has made it while this process waited
                _make(file)
            # From here on everybody sees the database, and nobody needs the lock any more.
            lock.unlink(missing_ok=True)
    except Timeout:
        raise UserError(
            f"The MLflow store {file} is being made by another process, which has not finished in "
            f"{PATIENCE} seconds. End that process, delete {lock}, and try again."
        ) from None
    except sqlite3.Error as error:
        raise refused(SQLAlchemyError(str(error)), f"sqlite:///{file}") from None
    except OSError as error:
        raise UserError(
            f"The MLflow store {file} cannot be made: {error.strerror or error}. "
            f"Start the command in a folder where you may write, {ELSEWHERE}"
        ) from None


def _is_new(file: Path) -> bool:
    """Whether there is no store yet; refuses a file that is something else than a whole store."""
    if not file.exists() or (file.is_file() and file.stat().st_size == 0):
        return True
    uri = f"sqlite:///{file}"
    try:
        # Not read-only: what a killed process left half-written is then rolled back.
        address = f"{file.as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, timeout=LOCK_SECONDS, uri=True)) as connection:
            listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {name for (name,) in listed}
    except sqlite3.Error as error:
        raise refused(SQLAlchemyError(str(error)), uri) from None
    if not tables:
        return True
    if not tables & {"experiments", "runs", "alembic_version"}:
        raise UserError(
            f"The MLflow store {uri} is a database of some other program. "
            f"Start the command in another folder, {ELSEWHERE}"
        )
    if missing := set(Base.metadata.tables) - tables:
        raise UserError(
            f"The MLflow store {uri} lacks {len(missing)} of the tables. {UNUSABLE.format(uri=uri)}"
        )
    return False


def _make(file: Path) -> None:
    """Called under the lock: what other makers left was left by processes that were killed."""
    prefix = f".{file.name}.new-"
    for leftover in file.parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=prefix, dir=file.parent)
    try:
        complete = Path(folder, file.name)
        store = SqlAlchemyStore(f"sqlite:///{complete}", DEFAULT_LOCAL_FILE_AND_ARTIFACT_PATH)
        store.engine.dispose()  # closes the file, so that it can be renamed
        os.replace(complete, file)
    except SQLAlchemyError as error:
        raise refused(error, f"sqlite:///{file}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
