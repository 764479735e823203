"""The final classifier of a run as an MLflow model: logged, served and loaded back.

A run's model is made by feeding StreamClassifier the run's own segments. That leaves the run's
parameters, bit for bit (tests/use/test_same_bits.py), so a run needs nothing but its stream.
"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
import numpy as np
import pandas as pd
from mlflow.models import infer_signature
from mlflow.pyfunc import PythonModel, PythonModelContext

from sdsl.config.schema import Setup
from sdsl.core.stream import Stream
from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier
from sdsl.tracking.address import store_uri

NAME, STATE = "model", "state.sdsl"
EXAMPLE_ROWS = 5
# MLflow runs this to make the model; given an object instead, it would pickle it.
SCRIPT = """\
from mlflow.models import set_model
from sdsl.served import ServedModel

set_model(ServedModel())
"""


class ServedModel(PythonModel):
    """What `mlflow models serve` runs: rows to labels, as StreamClassifier.predict gives them."""

    def load_context(self, context: PythonModelContext) -> None:
        self.model = StreamClassifier.load(context.artifacts[STATE])

    def predict(
        self,
        context: PythonModelContext,
        model_input: pd.DataFrame,
        params: Mapping[str, Any] | None = None,
    ) -> np.ndarray:
        return self.model.predict(model_input)


def final_model(setup: Setup, stream: Stream, s: int) -> StreamClassifier:
    """Of replica s, after the last segment."""
    gold, classes = stream.gold(), stream.table.classes
    X, y = (part.numpy() for part in gold.replica(s))
    model = StreamClassifier(setup.name, seed=stream.seeds[s])
    names = [f"x{i}" for i in range(stream.d)]
    frame = pd.DataFrame(X, columns=names)
    model.fit_config(frame, [classes[c] for c in y], setup.config)
    for t in range(1, stream.T + 1):
        model.adapt(pd.DataFrame(stream.segment(t)[s].numpy(), columns=names))
    return model


def log_model(model: StreamClassifier, example: pd.DataFrame, run_id: str, uri: str | None) -> None:
    """As the model of a run, with signature, input example and the packages it needs."""
    mlflow.set_tracking_uri(store_uri(uri))
    example = example[:EXAMPLE_ROWS]
    with TemporaryDirectory() as folder:
        file = Path(folder, STATE)
        model.save(file)
        script = Path(folder, "served_model.py")
        script.write_text(SCRIPT, encoding="utf-8")
        with mlflow.start_run(run_id=run_id):
            mlflow.pyfunc.log_model(
                name=NAME,
                python_model=str(script),
                artifacts={STATE: str(file)},
                code_paths=[str(Path(__file__).parent)],
                pip_requirements=_requirements(),
                signature=infer_signature(example, model.predict(example)),
                input_example=example,
            )


def load_run(run_id: str, uri: str | None = None) -> StreamClassifier:
    """The model of a run that was logged with tracking.model=true; it can also adapt further."""
    mlflow.set_tracking_uri(store_uri(uri))
    try:
        with TemporaryDirectory() as folder:
            found = mlflow.artifacts.download_artifacts(
                artifact_uri=f"runs:/{run_id}/{NAME}/artifacts/{STATE}", dst_path=folder
            )
            return StreamClassifier.load(found)
    except (mlflow.exceptions.MlflowException, OSError) as error:
        raise UserError(
            f"Run {run_id} has no model ({error}). Log one with tracking.model=true."
        ) from None


def _requirements() -> list[str]:
    """The packages that labels depend on, as they are installed here."""
    from importlib.metadata import version

    needed = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "safetensors", "hydra-core")
    return [f"{name}=={version(name)}" for name in needed]
