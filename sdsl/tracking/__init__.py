"""MLflow as the ledger of runs: the only room that names it, apart from the report's reader."""
