"""From a command line to recorded runs, here or on a cluster; names joblib, Ray and submitit.

Imports inside functions exist for start-up time only: `python -m sdsl.run --help` takes about a
second because torch, MLflow and pandas are not loaded for it. LAZY_IMPORTS lists them all (a test
compares the list with the code); none of them closes a circle.
"""

LAZY_IMPORTS = {  # module -> the modules of sdsl that it imports inside functions
    "sdsl.launch.job": (
        "sdsl.core.thin",
        "sdsl.experiment",
        "sdsl.served",
        "sdsl.tracking.artifacts",
        "sdsl.tracking.confusion_files",
        "sdsl.tracking.identity",
        "sdsl.tracking.ledger",
        "sdsl.tracking.run_summary",
        "sdsl.tracking.twins",
    ),
    "sdsl.launch.checkpoints": ("sdsl.config.registry", "sdsl.core.checkpoint"),
    "sdsl.launch.launcher": ("sdsl.experiment", "sdsl.tracking.ledger"),
}
