"""The address of a store: completed, refused if nothing would be kept, masked in messages."""

from pathlib import Path

import pytest

from sdsl.errors import UserError
from sdsl.tracking.address import masked, sqlite_file, store_uri, view

SECRETS = ("s3cr3t", "alice")


def test_the_default_is_a_file_here(empty_folder):
    assert store_uri(None) == f"sqlite:///{empty_folder}/mlflow.db"
    assert store_uri("http://host") == "http://host"


@pytest.mark.parametrize("uri", [
    *("sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite+pysqlite:///:memory:"),
    *("sqlite:///file::memory:?cache=shared&uri=true", "sqlite:///file:x?mode=memory&uri=true"),
])  # fmt: skip
def test_a_store_in_memory_is_refused(uri):
    with pytest.raises(UserError, match="in memory"):
        store_uri(uri)


def test_the_file_of_a_store(empty_folder):
    assert sqlite_file("sqlite:///b.db") == empty_folder / "b.db"
    assert sqlite_file("sqlite:///file:/a/b.db?uri=true") == Path("/a/b.db")


@pytest.mark.parametrize("uri", [
    "http://alice:s3cr3t@host:5000/path", "http://s3cr3t@host",
    "postgresql+psycopg2://alice:a@s3cr3t/x@host/db", "postgresql://host/db?user=x&password=s3cr3t",
    "mysql://alice:s3cr3t%40@host/db?charset=utf8",
])  # fmt: skip
def test_no_secret_is_shown(uri):
    for text in (uri, f"API request to {uri}/api failed", f"'{uri}'", view(uri, "1")):
        assert not any(secret in masked(text) for secret in SECRETS)
        assert "host" in masked(text)
    assert not any(secret in view(uri, "1") for secret in SECRETS)


@pytest.mark.parametrize(
    "text", ["sqlite:////home/a@b/mlflow.db", "file:///a@b/mlruns", "a@b, see http://host/x"]
)
def test_text_without_secrets_stays(text):
    assert masked(text) == text


def test_a_link_shows_these_runs_or_those_of_a_filter(empty_folder):
    page = "http://127.0.0.1:5000/#/experiments/1/runs?searchFilter="
    quoted = "attributes.run_id%20IN%20%28%27a%27%2C%20%27b%27%29"
    said = view(store_uri(None), "1", ["a", "b"])
    assert said == f"View in MLflow: run `mlflow ui` and open {page}{quoted}"
    many = view("sqlite:////other.db?a=1", "1", ["a"] * 9, "tags.kind = 'group'")
    ui = "`mlflow ui --backend-store-uri sqlite:////other.db`"
    assert f"run {ui} and open {page}tags.kind%20%3D%20%27group%27" in many
    page = "http://host:80/#/experiments/1/runs?searchFilter="
    assert view("http://host:80/", "1") == f"View in MLflow: {page}"
