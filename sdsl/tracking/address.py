"""The address of an MLflow store: its default, without passwords, and as a link to its runs."""

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from sdsl.errors import UserError

UI = "http://127.0.0.1:5000"  # where `mlflow ui` listens by default
LONGEST_LIST = 8  # run ids in a link; more make it longer than anybody wants to copy
# user:password@ in an address, and password=... behind it. Rather too much is masked than too
# little: a password may hold any character.
LOGIN = re.compile(r"://(?:[^/\s@:]*:\S*|[^/\s]*)@")
SECRET = re.compile(r"([?&](?:password|passwd|pwd|sslpassword|token|secret)=)[^&\s'\"]*", re.I)


def store_uri(uri: str | None) -> str:
    """The configured store, or mlflow.db in the current folder."""
    uri = uri or f"sqlite:///{Path('mlflow.db').absolute()}"
    if uri.startswith("sqlite"):
        path, _, query = uri.partition("://")[2].partition("?")
        if path.strip("/") in ("", ":memory:", "file::memory:") or "mode=memory" in query:
            raise UserError(
                f"The MLflow store {uri} is in memory: its results would be lost at the end. "
                "Give a file, such as tracking.uri=sqlite:///mlflow.db, or a server."
            )
    return uri


def sqlite_file(uri: str) -> Path | None:
    """The file of an SQLite store; None if the store is something else."""
    if not uri.startswith("sqlite"):
        return None
    path = uri.partition("?")[0].partition("://")[2].removeprefix("/").removeprefix("file:")
    return Path(path).absolute()


def masked(text: object) -> str:
    """A message with the user names and passwords of all addresses in it replaced by ***."""
    return SECRET.sub(r"\1***", LOGIN.sub("://***@", str(text)))


def shown(uri: str) -> str:
    """An address as a person may see it: masked, without options."""
    return masked(uri).partition("?")[0]


def view(uri: str, experiment_id: str, run_ids: Sequence[str] = (), where: str = "") -> str:
    """The sentence that says how to open these runs, or those an MLflow filter finds, in the UI."""
    if 0 < len(run_ids) <= LONGEST_LIST:
        where = f"attributes.run_id IN ({', '.join(repr(i) for i in run_ids)})"
    page = f"#/experiments/{experiment_id}/runs?searchFilter={quote(where, safe='')}"
    if uri.startswith("http"):
        return f"View in MLflow: {shown(uri).replace('***@', '').rstrip('/')}/{page}"
    store = "" if uri == store_uri(None) else f" --backend-store-uri {shown(uri)}"
    return f"View in MLflow: run `mlflow ui{store}` and open {UI}/{page}"
