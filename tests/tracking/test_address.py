"""The address of a store: completed, refused if nothing would be kept, masked in messages."""

from pathlib import Path

import pytest
from cli import SERIAL, TINY, call, start

from sdsl.errors import UserError
from sdsl.tracking.address import masked, sqlite_file, store_uri
from sdsl.tracking.looking import look_at

SECRETS = ("s3cr3t", "alice")


def test_the_default_is_a_file_here(empty_folder):
    assert store_uri(None) == f"sqlite:///{empty_folder}/mlflow.db?timeout=60"
    assert store_uri("sqlite:///x.db?a=1") == "sqlite:///x.db?a=1&timeout=60"
    assert store_uri("http://host") == "http://host"


@pytest.mark.parametrize(
    "uri",
    [
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite+pysqlite:///:memory:",
        "sqlite:///file::memory:?cache=shared&uri=true",
        "sqlite:///file:x?mode=memory&uri=true",
    ],
)
def test_a_store_in_memory_is_refused(uri):
    with pytest.raises(UserError, match="in memory"):
        store_uri(uri)


def test_a_store_in_memory_is_refused_by_the_command(here, monkeypatch, capfd):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite://")
    assert call(*TINY) == 2
    assert call("-m", SERIAL, *TINY) == 2
    assert capfd.readouterr().err.count("is in memory") == 2


def test_the_file_of_a_store():
    assert sqlite_file("sqlite:////a/b.db?timeout=60") == Path("/a/b.db")
    assert sqlite_file("sqlite:///b.db") == Path("b.db")
    assert sqlite_file("sqlite:///file:/a/b.db?uri=true") == Path("/a/b.db")
    assert sqlite_file("http://a/b.db") is None


@pytest.mark.parametrize(
    "uri",
    [
        "http://alice:s3cr3t@host:5000/path",
        "http://s3cr3t@host",
        "postgresql+psycopg2://alice:a@s3cr3t/x@host/db",
        "postgresql://host/db?user=x&password=s3cr3t",
        "mysql://alice:s3cr3t%40@host/db?charset=utf8",
    ],
)
def test_no_secret_is_shown(uri):
    for text in (uri, f"API request to {uri}/api failed", f"'{uri}'", look_at(uri, "1", "")):
        assert not any(secret in masked(text) for secret in SECRETS)
        assert "host" in masked(text)
    assert not any(secret in look_at(uri, "1", "") for secret in SECRETS)


@pytest.mark.parametrize(
    "text", ["sqlite:////home/a@b/mlflow.db", "file:///a@b/mlruns", "a@b, see http://host/x"]
)
def test_what_is_no_secret_stays(text):
    assert masked(text) == text


@pytest.mark.parametrize("mode", [(), ("-m", SERIAL)], ids=["run", "sweep"])
@pytest.mark.parametrize("where", ["line", "environment"])
def test_a_command_never_prints_a_password(here, mode, where):
    uri = "http://alice:s3cr3t@127.0.0.1:9/"  # nobody listens there
    words = (f"tracking.uri={uri}",) if where == "line" else ()
    code = "import sdsl.tracking.client as c; c.PATIENCE = 0.5\nfrom sdsl.run import main; main()"
    (here / "impatient.py").write_text(code)
    environment = {"MLFLOW_TRACKING_URI": uri} if where == "environment" else {}
    paths = {"PYTHONPATH": f"{here}:{Path(__file__).parents[2]}"}
    process = start(*mode, *TINY, *words, module="impatient", **paths, **environment)
    out, err = process.communicate()
    assert process.returncode == 2 and "does not answer" in err
    assert not any(secret in out + err for secret in SECRETS)
    assert "Traceback" not in err
