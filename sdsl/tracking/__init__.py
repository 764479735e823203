"""MLflow as the ledger of runs: what is finished, where it came from, all results as one table.

`address`, `identity` and `provenance` load in milliseconds; the others import MLflow, which takes
seconds, so commands import those inside functions.
"""
