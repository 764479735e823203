"""Comparisons of methods in one setting, as tables and as statistics.md: paired, IQM, ranks."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from sdsl.report.claims import statistics
from sdsl.report.runs.names import (
    METRICS,
    PAPER_METHODS,
    STATIC_BOUND,
    dataset_name,
    method_name,
    methods_in_order,
)
from sdsl.report.runs.results import Results


def differences(results: Results, metric: str, method: str = "ours") -> pd.DataFrame:
    """`method` minus every other method, per dataset, over the seeds they share."""
    rows = []
    for stream in results.paper_streams():
        scores = results.scores(method, stream, metric)
        for other in methods_in_order(results.variants() - {method, STATIC_BOUND}):
            if gap := statistics.paired(scores, results.scores(other, stream, metric)):
                rows.append(
                    {
                        "dataset": stream,
                        "method": other,
                        "difference": gap.mean,
                        "low": gap.interval.low,
                        "high": gap.interval.high,
                        "n": gap.n,
                    }
                )
    return pd.DataFrame(rows, columns=["dataset", "method", "difference", "low", "high", "n"])


def means(results: Results, metric: str, methods: Sequence[str]) -> pd.DataFrame:
    """One row per dataset, one column per method; only datasets on which all of them ran."""
    rows = {
        stream: [results.scores(method, stream, metric).mean() for method in methods]
        for stream in results.paper_streams()
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(methods)).dropna()


def paper_methods_run(results: Results) -> list[str]:
    """The rows of the paper's Table 2 that were run, in its order."""
    return [method for method in PAPER_METHODS if method in results.variants()]


def interquartile(results: Results, metric: str) -> pd.DataFrame:
    """IQM of every method that ran on all of the paper's datasets that ran at all."""
    streams = results.paper_streams()
    rows = []
    for method in methods_in_order(results.variants() - {STATIC_BOUND}):
        scores = {s: results.scores(method, s, metric).to_numpy() for s in streams}
        if streams and all(len(values) for values in scores.values()):
            iqm = statistics.interquartile_mean(scores)
            rows.append(
                {
                    "method": method,
                    "iqm": iqm.mean,
                    "low": iqm.interval.low,
                    "high": iqm.interval.high,
                    "runs": iqm.n,
                    "datasets": len(streams),
                }
            )
    return pd.DataFrame(rows, columns=["method", "iqm", "low", "high", "runs", "datasets"])


def markdown(results: Results, metric: str) -> str:
    """The section of statistics.md on one metric."""
    lines = [f"## {METRICS[metric]}", "", "### Paired differences: Ours minus another method", ""]
    lines += [
        "Mean over common seeds with a 95 % percentile bootstrap interval (10,000 draws). Five "
        "seeds make such an interval narrower than its name says.",
        "",
        "| dataset | method | difference | interval | n |",
        "|---|---|---|---|---|",
    ]
    for row in differences(results, metric).itertuples():
        interval = "–" if np.isnan(row.low) else f"[{row.low:+.3f}, {row.high:+.3f}]"
        pair = f"{dataset_name(row.dataset)} | {_escaped(method_name(row.method))}"
        lines.append(f"| {pair} | {row.difference:+.3f} | {interval} | {row.n} |")
    lines += ["", "### Interquartile mean over datasets, stratified bootstrap", ""]
    lines += ["| method | IQM | interval | runs | datasets |", "|---|---|---|---|---|"]
    for row in interquartile(results, metric).itertuples():
        interval = f"[{row.low:.3f}, {row.high:.3f}]"
        score = f"{_escaped(method_name(row.method))} | {row.iqm:.3f} | {interval}"
        lines.append(f"| {score} | {row.runs} | {row.datasets} |")
    return "\n".join([*lines, "", *_ranks(results, metric), ""])


def _ranks(results: Results, metric: str) -> list[str]:
    methods = paper_methods_run(results)
    table = means(results, metric, methods)
    lines = ["### Mean ranks of the paper's methods (1 is best)", ""]
    if len(methods) < 2 or len(table) < 2:
        return [*lines, "Two methods on two datasets are needed."]
    ranks = statistics.mean_ranks(table).sort_values()
    lines += ["| method | mean rank |", "|---|---|"]
    lines += [f"| {_escaped(method_name(m))} | {rank:.2f} |" for m, rank in ranks.items()]
    p = statistics.friedman(table)
    lines += ["", statistics.power_note(len(methods), len(table))]
    return lines if np.isnan(p) else [*lines, f"Friedman: p = {p:.3g}."]


def _escaped(name: str) -> str:
    return name.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")
