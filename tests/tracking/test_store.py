"""A store that several processes open first, one that cannot be used, and waiting for one."""

import os
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from filelock import Timeout
from made import FORK, together
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from sdsl.errors import UserError
from sdsl.tracking import store as module
from sdsl.tracking.store import PatientClient, Store


def test_first_starts_at_once_make_one_store(empty_folder):
    assert together(Store, ("one",), ("one",), ("one",), ("two",)) == [0] * 4
    made = PatientClient(f"sqlite:///{empty_folder}/mlflow.db").search_experiments()
    assert sorted(experiment.name for experiment in made) == ["Default", "one", "two"]
    assert sorted(path.name for path in empty_folder.iterdir()) == ["mlflow.db", "outputs"]


def test_a_kill_while_the_store_is_made_leaves_none(empty_folder, monkeypatch):
    def die(self):  # MLflow has made its tables
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(MlflowClient, "search_experiments", die)
    process = FORK.Process(target=Store, args=(None, "one"))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL and not Path("mlflow.db").exists()
    monkeypatch.undo()
    os.chdir(empty_folder)
    assert Store(None, "one").experiment_id


def test_a_lock_is_for_one_at_a_time_and_leaves_no_file(here):
    store, calls = Store(None, "one"), []
    with store.lock("a"):
        with pytest.raises(Timeout), store.lock("a", wait=False):
            pass
        with store.lock("b", wait=False, waiting=lambda: calls.append("b")):
            pass
    assert list(store.locks.iterdir()) == [] and calls == []


def corrupt(file: Path) -> None:
    file.write_bytes(b"This is not a database. " * 100)


def damaged(file: Path) -> None:
    with file.open("r+b") as out:
        out.seek(4096)
        out.write(b"\xff" * (file.stat().st_size - 4096))


def of_another_version(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '451aebb31d03'")


@pytest.mark.parametrize(("spoil", "said"), [
    (corrupt, "not a database"), (damaged, "malformed"), (of_another_version, "mlflow db upgrade"),
])  # fmt: skip
def test_a_store_that_cannot_be_used(here, spoil, said):
    spoil(here / "mlflow.db")
    before = (here / "mlflow.db").read_bytes()
    with pytest.raises(UserError, match=said) as refusal:
        Store(None, "one")
    assert "choose another store with tracking.uri=" in str(refusal.value)
    assert (here / "mlflow.db").read_bytes() == before, "nothing was changed"


@pytest.mark.parametrize(("uri", "said"), [
    ("sqlite:///file:{here}/mlflow.db?mode=ro&uri=true", "readonly"),
    ("sqlite:////proc/nowhere/mlflow.db", "/proc/nowhere/outputs/locks cannot be made"),
    ("postgresql+psycopg://alice:s3cr3t@host/db", "needs the Python package psycopg"),
    ("http://alice:s3cr3t@127.0.0.1:9", "does not answer"),
    ("foo://alice:s3cr3t@host", "cannot be used"),
])  # fmt: skip
def test_an_address_that_cannot_be_used(here, monkeypatch, uri, said):
    monkeypatch.setattr(module, "OPENING", 0.2)
    with pytest.raises(UserError, match=said) as refusal:
        Store(uri.format(here=here), "one")
    assert "s3cr3t" not in str(refusal.value) and "alice" not in str(refusal.value)


def test_reading_makes_nothing(empty_folder):
    with pytest.raises(UserError, match=r"There is no store .*mlflow.db"):
        Store(None, "sdsl", create=False)
    assert list(empty_folder.iterdir()) == []


def test_a_deleted_experiment_can_be_restored(here):
    store = Store(None, "one")
    store.client.delete_experiment(store.experiment_id)
    with pytest.raises(UserError, match="mlflow experiments restore --experiment-id"):
        Store(None, "one")
    with pytest.raises(UserError, match="has no experiment 'two'"):
        Store(None, "two", create=False)


def test_a_moved_folder_needs_a_link(here, tmp_path, monkeypatch):
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    shutil.move("mlflow.db", before)
    store = Store(f"sqlite:///{before}/mlflow.db", "one")
    run_id = store.client.create_run(store.experiment_id).info.run_id
    store.client.log_text(run_id, "text", "a.txt")
    before.rename(after)
    with pytest.raises(UserError, match=f"ln -s {after}/outputs/mlruns {before}/outputs/mlruns"):
        Store(f"sqlite:///{after}/mlflow.db", "one")
    before.joinpath("outputs").mkdir(parents=True)
    before.joinpath("outputs", "mlruns").symlink_to(after / "outputs" / "mlruns")
    moved = Store(f"sqlite:///{after}/mlflow.db", "one")
    assert "a.txt" in [item.path for item in moved.client.list_artifacts(run_id)]


LOST = "API request to http://alice:s3cr3t@nowhere failed with exception: Max retries exceeded"


def answer(*errors: str, patience: float = 100.0) -> str:
    """What a client gets from a store that fails with these errors first, one after the other."""
    client, left = PatientClient("http://alice:s3cr3t@nowhere"), list(errors)
    client.patience = patience

    def call() -> str:
        if left:
            raise MlflowException(left.pop(0))
        return "done"

    return client._patiently(call)


def test_a_locked_store_and_a_restarting_server_are_waited_for(monkeypatch):
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    restarting = "API request to endpoint failed with error code 503 != 200"
    assert answer("database is locked", LOST, restarting) == "done"


@pytest.mark.parametrize(("error", "patience", "said"), [
    ("(sqlite3.OperationalError) database or disk is full", 100.0, "disk is full"),
    ("Invalid parameter value", 100.0, "Invalid parameter"),
    (LOST, 0.0, r"does not answer.*same command goes on"),
])  # fmt: skip
def test_other_errors_are_not_waited_for(error, patience, said):
    with pytest.raises((UserError, MlflowException), match=said) as refusal:
        answer(error, patience=patience)
    assert "s3cr3t" not in str(refusal.value)
