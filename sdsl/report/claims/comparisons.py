"""The statistics of a setting as frames and text: paired differences, IQM, ranks."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from sdsl.report.claims import statistics
from sdsl.report.runs.names import BOUND, DATASETS, METRICS, PAPER, dataset_name, method_name
from sdsl.report.runs.names import methods_in_order as ordered
from sdsl.report.runs.results import Results


def differences(results: Results, metric: str, against: str = "ours") -> pd.DataFrame:
    """ours - every other method, per dataset, over the seeds they share."""
    rows = []
    for stream in (s for s in DATASETS if s in results.streams()):
        for method in ordered(results.variants() - {against, BOUND}):
            runs = [results.runs(m, stream, metric) for m in (against, method)]
            if gap := statistics.paired(*runs):
                own = {"dataset": stream, "method": method, "difference": gap.mean}
                rows.append({**own, "low": gap.low, "high": gap.high, "n": gap.n})
    return pd.DataFrame(rows, columns=["dataset", "method", "difference", "low", "high", "n"])


def means(results: Results, metric: str, methods: Iterable[str]) -> pd.DataFrame:
    """A row a dataset, a column a method; only datasets on which all of them ran."""
    methods = list(methods)
    rows = {
        stream: [results.runs(m, stream, metric).mean() for m in methods]
        for stream in DATASETS
        if stream in results.streams()
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=methods).dropna()


def interquartile(results: Results, metric: str) -> pd.DataFrame:
    """IQM of every method that ran on all of the paper's datasets that ran at all."""
    streams = [s for s in DATASETS if s in results.streams()]
    rows = []
    for method in ordered(results.variants() - {BOUND}):
        scores = {s: results.runs(method, s, metric).to_numpy() for s in streams}
        if streams and all(len(values) for values in scores.values()):
            found = statistics.interquartile_mean(scores)
            rows.append((method, found.mean, found.low, found.high, found.n, len(streams)))
    return pd.DataFrame(rows, columns=["method", "iqm", "low", "high", "runs", "datasets"])


def text(results: Results, metric: str) -> str:
    """statistics.md"""
    name = METRICS[metric]
    lines = [f"## {name}", "", "### Paired differences: Ours minus another method", ""]
    lines += [
        "Mean over common seeds with a 95 % percentile bootstrap interval (10,000 draws). Five "
        "seeds make such an interval narrower than its name says.",
        "",
        "| dataset | method | difference | interval | n |",
        "|---|---|---|---|---|",
    ]
    for row in differences(results, metric).itertuples():
        interval = "–" if np.isnan(row.low) else f"[{row.low:+.3f}, {row.high:+.3f}]"
        pair = f"{dataset_name(row.dataset)} | {_plain(method_name(row.method))}"
        lines.append(f"| {pair} | {row.difference:+.3f} | {interval} | {row.n} |")
    lines += ["", "### Interquartile mean over datasets, stratified bootstrap", ""]
    lines += ["| method | IQM | interval | runs | datasets |", "|---|---|---|---|---|"]
    for row in interquartile(results, metric).itertuples():
        interval = f"[{row.low:.3f}, {row.high:.3f}]"
        own = f"{_plain(method_name(row.method))} | {row.iqm:.3f} | {interval}"
        lines.append(f"| {own} | {row.runs} | {row.datasets} |")
    return "\n".join([*lines, "", *_ranks(results, metric), ""])


def _ranks(results: Results, metric: str) -> list[str]:
    methods = [m for m in PAPER if m in results.variants()]
    table = means(results, metric, methods)
    lines = ["### Mean ranks of the paper's methods (1 is best)", ""]
    if len(methods) < 2 or len(table) < 2:
        return [*lines, "Two methods on two datasets are needed."]
    ranks = statistics.mean_ranks(table).sort_values()
    lines += ["| method | mean rank |", "|---|---|"]
    lines += [f"| {_plain(method_name(m))} | {rank:.2f} |" for m, rank in ranks.items()]
    p = statistics.friedman(table)
    lines += ["", statistics.power_note(len(methods), len(table))]
    return lines if np.isnan(p) else [*lines, f"Friedman: p = {p:.3g}."]


def _plain(name: str) -> str:
    return name.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")
