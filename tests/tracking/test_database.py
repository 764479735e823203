"""A store is made whole or not at all, and one that cannot be used is refused in one sentence."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from cli import SERIAL, TINY, TINY_NAME, call, runs, start, status, together, wait_for

from sdsl.tracking import database
from sdsl.tracking.ledger import Ledger

FORK = multiprocessing.get_context("fork")  # MLflow is imported already: a start takes no seconds
HIDDEN = ".mlflow.db"  # what the names of a store in the making begin with


def opening() -> multiprocessing.Process:
    """A process that opens, and if need be makes, the store of this folder."""
    process = FORK.Process(target=Ledger, args=(None, "sdsl"))
    process.start()
    return process


def test_kills_during_the_making_cost_nothing(empty_folder):
    rng = np.random.default_rng(0)
    killed = 0
    for _ in range(8):
        process = opening()
        while not list(empty_folder.glob(f"{HIDDEN}.new-*")) and process.is_alive():
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.6))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed += not (empty_folder / "mlflow.db").exists()
        if (empty_folder / "mlflow.db").exists():  # too late: again from nothing
            Ledger(None, "sdsl")
            (empty_folder / "mlflow.db").unlink()
    assert killed >= 3, "most of the kills should hit"
    starts = [opening() for _ in range(4)]
    for process in starts:
        process.join()
    assert [process.exitcode for process in starts] == [0] * 4
    assert call(*TINY) == 0
    assert status() == {f"{TINY_NAME} · seed 0": "FINISHED"}
    assert not [path for path in empty_folder.iterdir() if path.name.startswith(".")]


def test_a_command_that_is_killed_meanwhile_is_resumed_by_the_same_command(empty_folder):
    command = start(*TINY)
    wait_for(lambda: list(empty_folder.glob(f"{HIDDEN}.new-*")), command)
    command.kill()
    command.communicate()
    again = start(*TINY)
    assert again.wait() == 0, again.communicate()[1]
    assert status() == {f"{TINY_NAME} · seed 0": "FINISHED"}
    assert sorted(path.name for path in empty_folder.iterdir()) == ["mlflow.db", "outputs"]


def test_four_first_starts_at_once(empty_folder):
    together(*((*TINY, f"seed={seed}") for seed in range(4)))
    assert set(status().values()) == {"FINISHED"} and len(runs()) == 4
    assert len(runs("group")) == 1
    assert sorted(path.name for path in empty_folder.iterdir()) == ["mlflow.db", "outputs"]


def test_an_empty_file_is_no_store_yet(empty_folder):
    (empty_folder / "mlflow.db").touch()
    assert call(*TINY) == 0
    assert set(status().values()) == {"FINISHED"}


def corrupt(file: Path) -> None:
    file.write_bytes(b"This is not a database. " * 100)


def damaged(file: Path) -> None:
    """The pages of a store overwritten, but its first one."""
    with file.open("r+b") as out:
        out.seek(4096)
        out.write(b"\xff" * (file.stat().st_size - 4096))


def foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")


def half_made(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DROP TABLE tags")


def of_another_version(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '451aebb31d03'")


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("mode", [(), ("-m", SERIAL)], ids=["run", "sweep"])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (corrupt, "is not a database. Move the file away"),
        (damaged, "Move the file away"),
        (foreign, "is a database of some other program"),
        (half_made, "lacks 1 of the tables"),
        (of_another_version, "mlflow db upgrade sqlite:///"),
        (a_folder, "cannot be opened"),
    ],
)
def test_a_store_that_cannot_be_used(here, capfd, mode, spoil, said):
    spoil(here / "mlflow.db")
    before = (here / "mlflow.db").read_bytes() if spoil is not a_folder else b""
    assert call(*mode, *TINY) == 2
    err = capfd.readouterr().err
    (sentence,) = [line for line in err.splitlines() if line.startswith("The MLflow store")]
    assert said in sentence and "Traceback" not in err and "sqlalchemy" not in err.lower()
    assert spoil is a_folder or (here / "mlflow.db").read_bytes() == before, "nothing was changed"


@pytest.mark.parametrize("mode", [(), ("-m", SERIAL)], ids=["run", "sweep"])
def test_a_store_that_may_only_be_read(here, capfd, mode):
    uri = f"tracking.uri='sqlite:///file:{here}/mlflow.db?mode=ro&uri=true'"
    assert call(*mode, *TINY, uri) == 2
    err = capfd.readouterr().err
    assert "cannot be written. Make the file and its folder writable" in err
    assert "Traceback" not in err


def test_a_folder_in_which_nothing_can_be_made(empty_folder, capfd):
    assert call(*TINY, "tracking.uri=sqlite:////proc/nowhere/mlflow.db") == 2
    err = capfd.readouterr().err
    assert "cannot be made" in err and "tracking.uri=" in err and "Traceback" not in err


def test_a_store_that_stays_locked(here, capfd, monkeypatch):
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.5)
    with closing(sqlite3.connect("mlflow.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert call(*TINY) == 2
    err = capfd.readouterr().err
    assert "is locked by another program" in err and "Traceback" not in err


def test_another_process_that_never_finishes(empty_folder, capfd, monkeypatch):
    from filelock import FileLock

    monkeypatch.setattr(database, "PATIENCE", 0.5)
    with FileLock(f"{HIDDEN}.lock"):
        assert call(*TINY) == 2
    assert "is being made by another process" in capfd.readouterr().err


def test_a_store_of_ones_own_choice_is_made_with_its_folder(empty_folder):
    assert call(*TINY, "tracking.uri=sqlite:///deep/down/runs.db") == 0
    assert [run.info.status for run in runs(uri="sqlite:///deep/down/runs.db")] == ["FINISHED"]
    assert sorted(path.name for path in (empty_folder / "deep" / "down").iterdir()) == ["runs.db"]
    shutil.rmtree(empty_folder / "deep")
