"""A finished run read back from its store, with its files."""

import re
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from mlflow.exceptions import MlflowException
from omegaconf import OmegaConf

from sdsl.config import trust
from sdsl.errors import UserError
from sdsl.tracking import artifacts
from sdsl.tracking.address import masked, store_uri
from sdsl.tracking.client import PatientClient
from sdsl.tracking.looking import look_at, only


@dataclass(frozen=True)
class LoggedRun:
    """What the store holds of one seed."""

    name: str
    tags: dict[str, str]
    metrics: dict[str, float]  # of a curve, its last point
    config: dict[str, Any]
    R: np.ndarray  # [T, T]
    R_context: np.ndarray | None  # the same in context, where it was asked for and offered
    digests: dict[str, str]  # tag -> SHA-256 of its file as it is now
    page: str  # how to look at it in mlflow ui


def read(run_id: str, uri: str | None) -> LoggedRun:
    """Refuses what is not a finished run of one seed."""
    if not re.fullmatch(r"[0-9a-f]{32}", run_id):
        raise UserError(f"'{run_id}' is not a run id: expected 32 hexadecimal digits, from the UI.")
    client = PatientClient(store_uri(uri))
    try:
        run = client.get_run(run_id)
        if run.info.status != "FINISHED" or run.data.tags.get("kind") != "run":
            raise UserError(f"Run {run_id} is not a finished run of one seed.")
        with tempfile.TemporaryDirectory() as folder:
            files = artifacts.fetch(client, run, folder)
            trust.check_file(files["config.yaml"])
            matrices = {k: np.load(f, allow_pickle=False) for k, f in files.items() if ".npy" in k}
            return LoggedRun(
                name=run.info.run_name,
                tags=dict(run.data.tags),
                metrics=dict(run.data.metrics),
                config=OmegaConf.to_container(OmegaConf.load(files["config.yaml"])),  # type: ignore[arg-type]
                R=matrices["R.npy"],
                R_context=matrices.get("R_context.npy"),
                digests=artifacts.digests(files.values()),
                page=look_at(store_uri(uri), run.info.experiment_id, only(run_id)),
            )
    except MlflowException as error:
        raise UserError(f"Run {run_id}: {masked(error.message)}") from None
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"Run {run_id}: its files cannot be read: {error}") from None
