"""MLflow as the ledger of runs: what is finished, where it came from, all results as one table.

Import `ledger`, `results`, `deployment` and `store` inside functions: MLflow takes seconds to load.
"""

PROBED = "probed."  # begins the name of a metric that a probe measured
