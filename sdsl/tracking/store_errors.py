"""What goes wrong with an MLflow store, in one sentence that says what to do."""

import requests
from mlflow.exceptions import MlflowException, RestException
from mlflow.protos.databricks_pb2 import RESOURCE_ALREADY_EXISTS, ErrorCode
from sqlalchemy.exc import SQLAlchemyError

from sdsl.errors import UserError
from sdsl.tracking.address import masked, shown

ELSEWHERE = "or choose another store with tracking.uri=..."
UNUSABLE = (
    "It was made by another version of MLflow, or by a command that was killed. If it holds runs, "
    "copy it and run `mlflow db upgrade {uri}`; if not, delete it."
)
# Words in the error of a database -> what to tell the user.
SENTENCES = {
    "readonly database": f"cannot be written. Make the file and its folder writable, {ELSEWHERE}",
    "is locked": f"is locked by another program. Close that program, {ELSEWHERE}",
    "not a database": f"is not a database. Move the file away, {ELSEWHERE}",
    "malformed": f"is damaged. Move the file away, {ELSEWHERE}",
    "unable to open database": f"cannot be opened. Is its folder there and yours? Else {ELSEWHERE}",
    "disk is full": f"has no room left: the disk is full. Make room, {ELSEWHERE}",
    "disk i/o error": f"cannot be read or written (disk I/O error). Check the disk, {ELSEWHERE}",
    "out-of-date database schema": f"has another schema than this MLflow. {UNUSABLE}",
    "can't locate revision": f"has another schema than this MLflow. {UNUSABLE}",
    "no such table": f"lacks a table. {UNUSABLE}",
    "no such column": f"lacks a column. {UNUSABLE}",
    "duplicate column": f"is half-made. {UNUSABLE}",
    "already exists": f"is half-made. {UNUSABLE}",
}
EXISTS = ErrorCode.Name(RESOURCE_ALREADY_EXISTS)
# Two processes log the same dataset for the first time: on a second try it is there.
ALSO_ADDED = ("unique constraint failed", "violates unique constraint")
# MLflow's client words any broken connection as "API request to ... failed with exception".
AWAY = ("failed with exception", "max retries exceeded", "timed out", "connection refused")


def may_pass(error: Exception) -> bool:
    """Whether waiting may help: a lock, a row that another process adds, a server that is away."""
    if getattr(error, "error_code", "") == EXISTS:  # an experiment: it will not go away
        return False
    if isinstance(error, RestException) and error.get_http_status_code() >= 500:
        return True
    if isinstance(error, requests.ConnectionError | requests.Timeout):
        return True
    text = str(error).lower()
    return any(sign in text for sign in ("is locked", "error code 5", *ALSO_ADDED, *AWAY))


def explained(error: Exception, uri: str) -> UserError | None:
    """The sentence for an error whose cause is the store; None if the code may be to blame."""
    if getattr(error, "error_code", "") == EXISTS:  # an experiment: another process was faster
        return None
    text = str(error).lower()
    for sign, sentence in SENTENCES.items():
        if sign in text and isinstance(error, MlflowException | SQLAlchemyError):
            return UserError(f"The MLflow store {shown(uri)} {sentence.format(uri=shown(uri))}")
    if may_pass(error):
        return UserError(
            f"The MLflow store {shown(uri)} does not answer: {first_line(error)}. Is its server "
            "running? The same command goes on from here."
        )
    return None


def refused(error: Exception, uri: str) -> UserError:
    """For errors on opening a store: whatever they are, its address or its state is the cause."""
    plain = UserError(f"The MLflow store {shown(uri)} cannot be used: {first_line(error)}")
    return explained(error, uri) or plain


def first_line(error: Exception) -> str:
    return masked(next(iter(str(error).splitlines()), "") or type(error).__name__)
