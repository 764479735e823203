"""Acc_t and Acc_T in context: each test part predicted as one unlabelled batch."""

from collections.abc import Iterator

import pandas as pd

from sdsl.report.aside.table import Aside, cell
from sdsl.report.runs.names import (
    METRICS,
    dataset_name,
    datasets_in_order,
    method_name,
    methods_in_order,
)
from sdsl.report.runs.results import Results

NOTE = (
    "Each test part is predicted as one unlabelled batch, so that a model may recall the time that "
    "the batch comes from. That is another task than the paper's, where each row is predicted by "
    "itself; the plain columns repeat that for comparison. mean ± std (n): over n seeds, std with "
    "ddof = 1."
)


def tables(results: Results) -> Iterator[Aside]:
    """One table, if any run was tested in context (eval.context=true)."""
    tested = results.frame.get("acc_final_context", pd.Series(dtype=float)).dropna().index
    runs = results.frame.loc[tested]
    rows = [
        [method_name(method), dataset_name(stream), *_cells(results, method, stream)]
        for method in methods_in_order(runs.variant)
        for stream in datasets_in_order(runs[runs.variant == method].stream)
    ]
    if rows:
        names = [METRICS[metric] for metric in ("acc_online", "acc_final")]
        heads = ["method", "stream", *(f"{name} in context" for name in names), *names]
        yield Aside("in_context", "In context", NOTE, pd.DataFrame(rows, columns=heads))


def _cells(results: Results, method: str, stream: str) -> list[str]:
    metrics = "acc_online_context", "acc_final_context", "acc_online", "acc_final"
    return [cell(results, method, stream, metric) for metric in metrics]
