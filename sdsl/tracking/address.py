"""The address of an MLflow store: completed, checked, and without its password in messages."""

import re
from pathlib import Path

from sdsl.errors import UserError

LOCK_SECONDS = 60  # how long SQLite itself waits for a lock
# user:password@ in an address, and password=... behind it. Rather too much is masked than too
# little: a password may hold any character.
LOGIN = re.compile(r"://(?:[^/\s@:]*:\S*|[^/\s]*)@")
SECRET = re.compile(r"([?&](?:password|passwd|pwd|sslpassword|token|secret)=)[^&\s'\"]*", re.I)


def store_uri(uri: str | None) -> str:
    """The configured store, or mlflow.db here; SQLite waits for its lock instead of giving up."""
    uri = uri or f"sqlite:///{Path('mlflow.db').absolute()}"
    if not is_sqlite(uri):
        return uri
    if in_memory(uri):
        raise UserError(
            f"The MLflow store {uri} is in memory: its results would be lost at the end. "
            "Give a file, such as tracking.uri=sqlite:///mlflow.db, or a server."
        )
    waits = "timeout=" in uri
    return uri if waits else f"{uri}{'&' if '?' in uri else '?'}timeout={LOCK_SECONDS}"


def is_sqlite(uri: str) -> bool:
    return uri.startswith(("sqlite:", "sqlite+"))


def in_memory(uri: str) -> bool:
    """Whether an SQLite address names no file."""
    path, _, query = uri.partition("://")[2].partition("?")
    return path.strip("/") in ("", ":memory:", "file::memory:") or "mode=memory" in query


def sqlite_file(uri: str) -> Path | None:
    """The file of an SQLite store; None if the store is something else."""
    if not is_sqlite(uri):
        return None
    path = uri.partition("?")[0].partition("://")[2].removeprefix("/").removeprefix("file:")
    return Path(path)


def masked(text: object) -> str:
    """A message with the user names and passwords of all addresses in it replaced by ***."""
    return SECRET.sub(r"\1***", LOGIN.sub("://***@", str(text)))


def shown(uri: str) -> str:
    """An address as a person may see it: masked, without options."""
    return masked(uri).partition("?")[0]
