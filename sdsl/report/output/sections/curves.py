"""Accuracy by segment, and under noise on the parameters: one figure to zoom and to choose in."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from sdsl.report.claims.noise_checks import ONE_SIDED, SYMMETRIC, noise_curve
from sdsl.report.output import curves
from sdsl.report.output.report import Report
from sdsl.report.output.sections.section import Section, render
from sdsl.report.runs.names import STATIC_BOUND, datasets_in_order, methods_in_order
from sdsl.report.runs.results import Results

KINDS = {  # id -> what it shows, and the labels of its axes
    "online": ("Accuracy on each segment right after learning it, R[t,t]", "segment t", "accuracy"),
    "online_mean": ("Acc_t so far: the running mean of R[t,t]", "segment t", "accuracy"),
    "past_mean": ("Mean accuracy on all segments so far", "segment t", "accuracy"),
    "final": ("The last model on every segment, R[T,j]", "test segment j", "accuracy"),
    "pseudo_label_acc": ("Share of right pseudo-labels", "segment t", "share"),
    ONE_SIDED: ("Acc_T under noise U[0, b] on the parameters", "noise bound b", "Acc_T"),
    SYMMETRIC: ("Acc_T under noise U[-b, b] on the parameters", "noise bound b", "Acc_T"),
}
OF_R = {
    "online": curves.ONLINE,
    "online_mean": curves.ONLINE_MEAN,
    "past_mean": curves.PAST_MEAN,
    "final": curves.FINAL,
}


def section(report: Report) -> Section:
    drawn: dict[str, dict[str, dict[int, Any]]] = {}
    for setting, results in report.settings.items():
        here = drawn.setdefault(setting.id, {})
        for kind, stream, method, x, Y in _lines(results):
            lines = here.setdefault(kind, {}).setdefault(report.streams[stream], {})
            lines[report.methods[method]] = _packed(x, Y)
    known = {kind for kinds in drawn.values() for kind in kinds}
    kinds = {kind: text for kind, text in KINDS.items() if kind in known}
    html = render("curves.html", kinds=kinds, streams=report.shown_streams)
    return Section("curves", "Curves", html, {"kinds": kinds, "lines": drawn})


def _lines(results: Results) -> Iterator[tuple[str, str, str, np.ndarray | None, np.ndarray]]:
    """(kind, stream, method, x or None for 1..T, Y [seeds, points])"""
    for stream in datasets_in_order(results.streams()):
        for method in methods_in_order(results.variants() - {STATIC_BOUND}):
            R = results.matrices(method, stream)
            if R is not None:
                for kind, curve in OF_R.items():
                    yield kind, stream, method, None, curve.of(R)
            labels = results.curve(method, stream, "pseudo_label_acc")
            if len(labels):
                yield "pseudo_label_acc", stream, method, None, labels.to_numpy()
            for noise in (ONE_SIDED, SYMMETRIC):
                if found := noise_curve(results, method, stream, noise):
                    by_seed = results.curve(method, stream, noise).to_numpy()
                    yield noise, stream, method, found.bounds, by_seed


def _packed(x: np.ndarray | None, Y: np.ndarray) -> list[Any]:
    """[x, mean, std] in thousandths, to make the page small; None where nothing was measured."""
    std = Y.std(axis=0, ddof=1) if len(Y) > 1 else np.full(Y.shape[1], np.nan)
    bounds = None if x is None else np.asarray(x).round(4).tolist()
    return [bounds, _thousandths(pd.DataFrame(Y).mean().to_numpy()), _thousandths(std)]


def _thousandths(values: np.ndarray) -> list[int | None]:
    return [None if np.isnan(value) else round(1000 * float(value)) for value in values]
