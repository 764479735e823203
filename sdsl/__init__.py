"""sdsl: semi-supervised drifted stream learning with short lookback (KDD 2022), reproduced."""

import importlib
import os

# MKL's results depend on memory alignment, and so on which replicas run side by side, unless it is
# told to be strict. Read when torch first multiplies, so it has to be set here.
os.environ.setdefault("MKL_CBWR", "AVX2,STRICT")
# MLflow would report its use to its makers and keep a file in the home folder. Read at its import.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

__version__ = "0.1.0"
# Loaded when asked for: `import sdsl` must not take the seconds that torch and MLflow take.
LAZY = {
    "StreamClassifier": "sdsl.estimator",
    "load_run": "sdsl.estimator",
    "results": "sdsl.tracking.results",
}


def __getattr__(name: str) -> object:
    if name not in LAZY:
        raise AttributeError(f"module 'sdsl' has no attribute '{name}'")
    return getattr(importlib.import_module(LAZY[name]), name)
