"""The final model of a run as an MLflow model: logged, served and loaded back.

The model is made by following the stream of the run once more, which leaves the run's parameters
bit for bit (tests/use/test_same_bits.py): a run needs nothing but its stream for it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import requires, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import mlflow
import numpy as np
import pandas as pd
from mlflow.entities import LoggedModelOutput
from mlflow.exceptions import MlflowException
from mlflow.models import Model, infer_signature

from sdsl.config import Setup
from sdsl.core.stream import Stream
from sdsl.datasets.columns import prepare
from sdsl.errors import UserError
from sdsl.tracking.address import store_uri
from sdsl.tracking.store import PatientClient
from sdsl.use.follower import Follower, foreign, loaded

NAME, STATE = "model", "state.sdsl"


class Served(NamedTuple):
    """Rows to labels and how sure they are, for `mlflow models serve`."""

    follower: Follower

    def predict(self, rows: pd.DataFrame) -> pd.DataFrame:
        y, confidence = self.follower.ask(self.follower.columns.transform(rows), cautious=True)
        return pd.DataFrame({"label": self.follower.labels[y], "confidence": confidence})


def _load_pyfunc(path: str, model_config: Mapping[str, Any]) -> Served:
    """Called by MLflow; it runs the code that was logged along, components of one's own too."""
    with loaded(path, model_config["modules"]) as (follower, _):
        return Served(follower)


def final_model(
    setup: Setup, stream: Stream, on_step: Callable[[int], None] = lambda t: None
) -> Follower:
    """The model after the last segment of the stream."""
    gold, columns = stream.gold(), prepare(example(stream), "", strict=True)
    X, y, classes = gold.X.numpy(), gold.y.numpy(), np.array(stream.table.classes)
    follower = Follower(setup.config, X, y, classes, stream.seed, columns)
    for t in range(1, stream.T + 1):
        follower.step(stream.segment(t).numpy())
        on_step(t)
    return follower


def example(stream: Stream) -> pd.DataFrame:
    """The first rows of the last segment, as the model takes them."""
    names = stream.table.features or [f"x{i}" for i in range(stream.d)]
    return pd.DataFrame(stream.segment(stream.T)[:5].numpy(), columns=list(names))


def has_model(run_id: str, uri: str | None) -> bool:
    """Whether a complete model is among the outputs of the run."""
    outputs = PatientClient(store_uri(uri)).get_run(run_id).outputs
    return bool(outputs and outputs.model_outputs)


def log_model(follower: Follower, rows: pd.DataFrame, run_id: str, uri: str | None) -> None:
    """Log the model of a run with signature, input example, code and the packages of sdsl.

    The run stays as it is, FINISHED too, which `mlflow.pyfunc.log_model` would change. It has the
    model from the last call on.
    """
    client, own = PatientClient(store_uri(uri)), foreign(follower.config)
    place = client.get_run(run_id).info.experiment_id
    made = client.create_logged_model(place, NAME, run_id, model_type="classifier")
    packages = [import_module(name.partition(".")[0]) for name in ("sdsl", *own)]
    listed = [one for one in requires("sdsl") or [] if "extra ==" not in one]
    needed = [re.split(r"[^\w.-]", one)[0] for one in listed]  # exact: it was saved with these
    with TemporaryDirectory() as folder:
        follower.save(state := Path(folder, STATE))
        mlflow.pyfunc.save_model(
            path=f"{folder}/{NAME}",
            mlflow_model=Model(made.artifact_location, run_id, model_id=made.model_id),
            loader_module=__name__,
            data_path=str(state),
            code_paths=sorted({[*getattr(p, "__path__", []), p.__file__][0] for p in packages}),
            pip_requirements=[f"{name}=={version(name).partition('+')[0]}" for name in needed],
            signature=infer_signature(rows, Served(follower).predict(rows)),
            input_example=rows,
            model_config={"modules": own},
        )
        client.log_model_artifacts(made.model_id, f"{folder}/{NAME}")
    client.finalize_logged_model(made.model_id, "READY")
    client.log_outputs(run_id, [LoggedModelOutput(made.model_id, step=0)])


@contextmanager
def downloaded(run_id: str, uri: str | None) -> Iterator[str]:
    """The state file of a run's model, for the length of the block."""
    artifact = f"runs:/{run_id}/{NAME}/data/{STATE}"
    with TemporaryDirectory() as folder:
        try:
            yield mlflow.artifacts.download_artifacts(
                artifact, dst_path=folder, tracking_uri=store_uri(uri)
            )
        except (MlflowException, OSError) as error:
            why = f"Run {run_id} has no model in this store ({error})."
            raise UserError(
                f"{why} The same command with tracking.model=true logs one; that of a deployment "
                "is out/.sdsl/state.sdsl."
            ) from None
