"""The final classifier of a run as an MLflow model: logged, served and loaded back.

The model is made by feeding StreamClassifier the segments of the run, which leaves the run's
parameters bit for bit (tests/use/test_same_bits.py): a run needs nothing but its stream for it.
"""

import importlib.util
from collections.abc import Callable, Sequence
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

from sdsl.config import Setup
from sdsl.core.stream import Stream
from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier
from sdsl.tracking.address import store_uri
from sdsl.tracking.store import PatientClient
from sdsl.use.saved import own_modules

NAME, STATE = "model", "state.sdsl"
# MLflow runs this to make the model; given an object instead, it would pickle it.
SCRIPT = """\
from mlflow.models import set_model
from sdsl.use.served import ServedModel

set_model(ServedModel())
"""
# Imported to load a model and to ask it; a test compares the list with what is imported.
NEEDED = "torch numpy numba scipy scikit-learn pandas pyarrow safetensors pydantic hydra-core"
NEEDED += " omegaconf mlflow pooch filelock"


class ServedModel(PythonModel):
    """Rows to labels, as StreamClassifier.predict gives them, for `mlflow models serve`."""

    def load_context(self, context: PythonModelContext) -> None:
        # Serving a model runs the code that was logged with it, components of one's own included.
        own = (context.model_config or {}).get("modules", [])
        self.model = StreamClassifier.load(context.artifacts[STATE], own)

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> np.ndarray:
        return self.model.predict(model_input)


def final_model(
    setup: Setup, stream: Stream, on_step: Callable[[int], None] = lambda t: None
) -> StreamClassifier:
    """The classifier after the last segment of the stream."""
    gold, classes = stream.gold(), np.array(stream.table.classes)
    model = StreamClassifier(setup.name, seed=stream.seed)
    model.fit_config(gold.X.numpy(), classes[gold.y.numpy()], setup.config)
    for t in range(1, stream.T + 1):
        model.adapt(stream.segment(t).numpy())
        on_step(t)
    model.feature_names_in_ = example(stream).columns.to_numpy(object)
    return model


def example(stream: Stream) -> pd.DataFrame:
    """The first rows of the last segment, as the model takes them."""
    names = stream.table.features or [f"x{i}" for i in range(stream.d)]
    return pd.DataFrame(stream.segment(stream.T)[:5].numpy(), columns=list(names))


def has_model(run_id: str, uri: str | None) -> bool:
    """Whether a complete model is among the outputs of the run."""
    outputs = PatientClient(store_uri(uri)).get_run(run_id).outputs
    return bool(outputs and outputs.model_outputs)


def log_model(model: StreamClassifier, rows: pd.DataFrame, run_id: str, uri: str | None) -> None:
    """Log the model of a run with signature, input example, code and the packages it needs.

    The run itself stays as it is, FINISHED too. It has the model from the last call on.
    """
    client, own = PatientClient(store_uri(uri)), own_modules(model.follower_.config)
    place = client.get_run(run_id).info.experiment_id
    made = client.create_logged_model(
        place, name=NAME, source_run_id=run_id, model_type="classifier"
    )
    about = Model(artifact_path=made.artifact_location, run_id=run_id, model_id=made.model_id)
    with TemporaryDirectory() as folder:
        state, script = Path(folder, STATE), Path(folder, "served_model.py")
        model.save(state)
        script.write_text(SCRIPT, encoding="utf-8")
        mlflow.pyfunc.save_model(
            path=f"{folder}/{NAME}",
            mlflow_model=about,
            python_model=str(script),
            artifacts={STATE: str(state)},
            code_paths=_code(own),
            pip_requirements=[f"{name}=={version(name)}" for name in NEEDED.split()],
            signature=infer_signature(rows, model.predict(rows)),
            input_example=rows,
            model_config={"modules": own},
        )
        client.log_model_artifacts(made.model_id, f"{folder}/{NAME}")
    client.finalize_logged_model(made.model_id, "READY")
    client.log_outputs(run_id, [LoggedModelOutput(made.model_id, step=0)])


def load_run(run_id: str, uri: str | None = None, modules: Sequence[str] = ()) -> StreamClassifier:
    """The model of a run that was logged with tracking.model=true; it can adapt further.

    modules: of your own components, as in StreamClassifier.load.
    """
    with TemporaryDirectory() as folder:
        try:
            artifact, address = f"runs:/{run_id}/{NAME}/artifacts/{STATE}", store_uri(uri)
            found = mlflow.artifacts.download_artifacts(
                artifact_uri=artifact, dst_path=folder, tracking_uri=address
            )
        except (MlflowException, OSError) as error:
            raise UserError(
                f"Run {run_id} has no model in this store ({error}). The same command with "
                "tracking.model=true logs one; that of a deployment is out/.sdsl/state.sdsl."
            ) from None
        return StreamClassifier.load(found, modules)


def _code(own: Sequence[str]) -> list[str]:
    """The folders or files of sdsl and of the packages of own components."""
    found = [Path(__file__).parents[1]]
    for name in sorted({module.partition(".")[0] for module in own}):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            package = bool(spec.submodule_search_locations)
            found.append(Path(spec.origin).parent if package else Path(spec.origin))
    return [str(path) for path in found]
