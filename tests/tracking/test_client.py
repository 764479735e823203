"""How the client waits for its store, and what it says when waiting does not help."""

import multiprocessing

import pytest
from mlflow.entities import Dataset, DatasetInput
from mlflow.exceptions import MlflowException

from sdsl.errors import UserError
from sdsl.tracking import client as module
from sdsl.tracking.address import store_uri
from sdsl.tracking.client import PatientClient, experiment_id


@pytest.fixture
def patient(monkeypatch) -> PatientClient:
    monkeypatch.setattr(module, "MlflowClient", lambda uri: None)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    return PatientClient("http://user:s3cr3t@nowhere")


def answering(*answers: str | None):
    """A call that fails with these messages, one after the other; None is success."""
    left = list(answers)

    def call() -> str:
        if text := left.pop(0):
            raise MlflowException(text)
        return "done"

    return call


def test_a_locked_store_is_waited_for(patient):
    lost = "API request to http://user:s3cr3t@nowhere failed with exception: Max retries exceeded"
    assert patient._patiently(answering("database is locked", lost, None)) == "done"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("database or disk is full", "the disk is full"),
        ("attempt to write a readonly database", "writable"),
        ("database disk image is malformed", "damaged"),
    ],
)
def test_a_broken_store_is_not_waited_for(patient, text, said):
    with pytest.raises(UserError, match=said):
        patient._patiently(answering(text, None))


def test_patience_ends_in_one_sentence_without_the_password(patient):
    patient.patience = 0.0
    lost = "API request to http://user:s3cr3t@nowhere/api failed with exception: refused"
    with pytest.raises(UserError) as refusal:
        patient._patiently(answering(lost))
    assert "does not answer" in str(refusal.value) and "http://***@nowhere" in str(refusal.value)
    assert "s3cr3t" not in str(refusal.value)


def test_an_error_of_our_own_stays_what_it_is(patient):
    with pytest.raises(MlflowException, match="Invalid parameter"):
        patient._patiently(answering("Invalid parameter value"))


def test_a_database_whose_driver_is_missing():
    with pytest.raises(UserError, match=r"needs the Python package psycopg.*psycopg2") as refusal:
        PatientClient("postgresql+psycopg://user:s3cr3t@nowhere/db")
    assert "s3cr3t" not in str(refusal.value)


def test_of_two_who_make_an_experiment_at_once_both_get_it(here, monkeypatch):
    one, other = (PatientClient(store_uri(None)) for _ in range(2))
    made = experiment_id(one, "new")
    real, answers = other._client.get_experiment_by_name, [None]  # looks before it is there
    late = lambda name: answers.pop() if answers else real(name)  # noqa: E731
    monkeypatch.setattr(other._client, "get_experiment_by_name", late)
    assert experiment_id(other, "new") == made


def log_datasets(ready, names: list[str]) -> None:
    client = PatientClient(store_uri(None))
    run = client.create_run(experiment_id(client, "new")).info.run_id
    for name in names:
        ready.wait(60)
        client.log_inputs(run, datasets=[DatasetInput(Dataset(name, "1", "code", "here"))])


def test_processes_that_log_a_new_dataset_at_once_all_get_it(here):
    client = PatientClient(store_uri(None))
    experiment = experiment_id(client, "new")
    fork, names = multiprocessing.get_context("fork"), [f"stream {i}" for i in range(10)]
    ready = fork.Barrier(4)
    processes = [fork.Process(target=log_datasets, args=(ready, names)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    runs = client.search_runs([experiment])
    assert [len(run.inputs.dataset_inputs) for run in runs] == [10] * 4
