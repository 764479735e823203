"""MLflow as the ledger of runs: the only room that names it, apart from `served`.

`address`, `records`, `process` and `provenance` load in milliseconds. `client`, `database` and
`ledger` import MLflow, which takes seconds, so commands import those three inside functions.
"""
