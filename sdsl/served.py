"""The final classifier of a run as an MLflow model: logged, served and loaded back.

A run's model is made by feeding StreamClassifier the run's own segments. That leaves the run's
parameters, bit for bit (tests/use/test_same_bits.py), so a run needs nothing but its stream.
"""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
import numpy as np
import pandas as pd
from mlflow.entities import LoggedModelOutput
from mlflow.exceptions import MlflowException
from mlflow.models import Model, infer_signature
from mlflow.pyfunc import PythonModel, PythonModelContext

from sdsl.config.registry import own_modules
from sdsl.config.schema import Setup
from sdsl.core.stream import Stream
from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier
from sdsl.tracking.address import store_uri
from sdsl.tracking.client import PatientClient

NAME, STATE = "model", "state.sdsl"
EXAMPLE_ROWS = 5
# MLflow runs this to make the model; given an object instead, it would pickle it.
SCRIPT = """\
from mlflow.models import set_model
from sdsl.served import ServedModel

set_model(ServedModel())
"""
# What sdsl imports to load a model and to ask it; a test compares the list with what is imported.
NEEDED = (
    *("torch", "numpy", "numba", "scipy", "scikit-learn", "pandas", "pyarrow", "safetensors"),
    *("hydra-core", "omegaconf", "mlflow", "pooch", "filelock", "rich"),
)


class ServedModel(PythonModel):
    """What `mlflow models serve` runs: rows to labels, as StreamClassifier.predict gives them."""

    def load_context(self, context: PythonModelContext) -> None:
        # Whoever serves a model runs the code that was logged with it, own components included.
        own = (context.model_config or {}).get("modules", [])
        self.model = StreamClassifier.load(context.artifacts[STATE], own)

    def predict(
        self,
        context: PythonModelContext,
        model_input: pd.DataFrame,
        params: Mapping[str, Any] | None = None,
    ) -> np.ndarray:
        return self.model.predict(model_input)


def final_model(
    setup: Setup, stream: Stream, s: int, on_step: Callable[[int], None] = lambda t: None
) -> StreamClassifier:
    """Of replica s, after the last segment."""
    X, y = (part.numpy() for part in stream.gold().replica(s))
    # Where the store is belongs to nobody who is given the model: its address may hold a password.
    config = {**setup.config, "tracking": {**setup.config["tracking"], "uri": None}}
    model = StreamClassifier(setup.name, seed=stream.seeds[s])
    model.fit_config(_named(X, stream), [stream.table.classes[c] for c in y], config)
    for t in range(1, stream.T + 1):
        model.adapt(_named(stream.segment(t)[s].numpy(), stream))
        on_step(t)
    return model


def example(stream: Stream, s: int) -> pd.DataFrame:
    """The first rows of the last segment, as the model takes them."""
    return _named(stream.segment(stream.T)[s, :EXAMPLE_ROWS].numpy(), stream)


def _named(X: np.ndarray, stream: Stream) -> pd.DataFrame:
    return pd.DataFrame(X, columns=stream.table.features or [f"x{i}" for i in range(stream.d)])


def has_model(run_id: str, uri: str | None) -> bool:
    """Whether a complete model is among the outputs of the run."""
    outputs = PatientClient(store_uri(uri)).get_run(run_id).outputs
    return bool(outputs and outputs.model_outputs)


def log_model(model: StreamClassifier, rows: pd.DataFrame, run_id: str, uri: str | None) -> None:
    """As the model of a run, with signature, input example, code and the packages it needs.

    The run itself stays as it is, FINISHED too. It has the model from the last call on.
    """
    client = PatientClient(store_uri(uri))
    run = client.get_run(run_id)
    made = client.create_logged_model(
        run.info.experiment_id, name=NAME, source_run_id=run_id, model_type="classifier"
    )
    rows = rows[:EXAMPLE_ROWS]
    with TemporaryDirectory() as folder:
        state, script = Path(folder, STATE), Path(folder, "served_model.py")
        model.save(state)
        script.write_text(SCRIPT, encoding="utf-8")
        own = own_modules(model.following_.config)
        mlflow.pyfunc.save_model(
            path=f"{folder}/{NAME}",
            mlflow_model=Model(
                artifact_path=made.artifact_location, run_id=run_id, model_id=made.model_id
            ),
            python_model=str(script),
            artifacts={STATE: str(state)},
            code_paths=_code(own),
            pip_requirements=[f"{name}=={version(name)}" for name in NEEDED],
            signature=infer_signature(rows, model.predict(rows)),
            input_example=rows,
            model_config={"modules": own},
        )
        client.log_model_artifacts(made.model_id, f"{folder}/{NAME}")
    client.finalize_logged_model(made.model_id, "READY")
    client.log_outputs(run_id, [LoggedModelOutput(made.model_id, step=0)])


def load_run(run_id: str, uri: str | None = None, modules: Sequence[str] = ()) -> StreamClassifier:
    """The model of a run: the one that was logged with tracking.model=true, or a deployment's.

    It goes on bit for bit, and can also adapt further. The model of a deployment is read from the
    folder `out` that sdsl.label writes to. modules: of your own components, as in
    StreamClassifier.load.
    """
    address = store_uri(uri)
    try:
        run = PatientClient(address).get_run(run_id)
    except MlflowException as error:
        raise UserError(f"There is no run {run_id} in this store ({error}).") from None
    if run.data.tags.get("kind") == "deployment":
        file = Path(run.data.params.get("out", ""), ".sdsl", STATE)
        if not file.exists():
            raise UserError(
                f"Run {run_id} is a deployment of host {run.data.tags.get('host')}, whose model is "
                f"{file}. There is no such file here."
            )
        return StreamClassifier.load(file, modules)
    try:
        with TemporaryDirectory() as folder:
            found = mlflow.artifacts.download_artifacts(
                artifact_uri=f"runs:/{run_id}/{NAME}/artifacts/{STATE}",
                dst_path=folder,
                tracking_uri=address,
            )
            return StreamClassifier.load(found, modules)
    except (MlflowException, OSError) as error:
        raise UserError(
            f"Run {run_id} has no model ({error}). Log one: the same command with "
            "tracking.model=true adds it."
        ) from None


def _code(own: Sequence[str]) -> list[str]:
    """The folders or files of sdsl and of the packages of own components."""
    found = [Path(__file__).parent]
    for name in dict.fromkeys(module.partition(".")[0] for module in own):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            found.append(Path(next(iter(spec.submodule_search_locations))))
        elif spec is not None and spec.origin:
            found.append(Path(spec.origin))
    return [str(path) for path in found]
