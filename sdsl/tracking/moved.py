"""A store whose folder was moved or copied keeps its artifacts beside it.

MLflow writes the absolute place of every artifact into its database. An experiment of ours also
says where its artifacts are as seen from the database (the tag PLACE). If that is not where the
database says, the folder was moved or copied, and the database is corrected: a copy then neither
reads nor writes the files of the original, and `mlflow ui` shows them.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from sdsl.tracking.address import LOCK_SECONDS

PLACE = "artifacts"
USUAL = Path("outputs", "mlruns")  # also that of stores older than the tag
EXPERIMENTS = """
SELECT e.experiment_id, e.artifact_location, t.value FROM experiments e LEFT JOIN experiment_tags t
ON t.experiment_id = e.experiment_id AND t.key = ? WHERE e.artifact_location IS NOT NULL
"""
COLUMNS = (
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
)


def place(file: Path, artifacts: Path) -> str:
    """What the tag says."""
    return os.path.relpath(artifacts, file.absolute().parent)


def follow(file: Path) -> None:
    """Correct the database if its folder has been moved or copied; at once or not at all."""
    address = f"{file.as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, timeout=LOCK_SECONDS, uri=True)) as connection:
        if not _changes(connection, file):  # the usual case: nothing is locked
            return
        connection.execute("BEGIN IMMEDIATE")
        for before, after in _changes(connection, file):
            connection.execute(
                "UPDATE experiments SET artifact_location = ? WHERE artifact_location = ?",
                (after, before),
            )
            # A copy without the files: what is there stays where it is.
            for table, column in COLUMNS if _path(after).is_dir() else ():
                connection.execute(
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?)"
                    f" WHERE substr({column}, 1, ?) = ?",
                    (after, len(before) + 1, len(before) + 1, f"{before}/"),
                )
        connection.commit()


def _changes(connection: sqlite3.Connection, file: Path) -> set[tuple[str, str]]:
    """(where the database says that artifacts are, where they are)"""
    changes = set()
    for experiment, said, tag in connection.execute(EXPERIMENTS, (PLACE,)).fetchall():
        old = _path(said)
        if urlparse(said).scheme not in ("", "file") or not (tag or old.parts[-2:] == USUAL.parts):
            continue
        here = Path(os.path.normpath(file.parent / (tag or USUAL)))
        if here == old or (here.is_dir() and old.is_dir() and here.samefile(old)):
            continue
        if here.is_dir():
            moved = bool(tag) or _holds_runs(connection, experiment, here)
        else:  # only the database is here; if there is one at the old place too, it is a copy
            original = Path(os.path.normpath(old / os.path.relpath(file, here)))
            moved = bool(tag) and (not old.is_dir() or original.exists())
        if moved:
            changes.add((said, here.as_uri()))
    return changes


def _holds_runs(connection: sqlite3.Connection, experiment: int, folder: Path) -> bool:
    """Whether a folder has files of this experiment."""
    query = "SELECT run_uuid FROM runs WHERE experiment_id = ?"
    return any((folder / run_id).is_dir() for (run_id,) in connection.execute(query, (experiment,)))


def _path(uri: str) -> Path:
    return Path(url2pathname(urlparse(uri).path))
