"""The numbers of one replica of an outcome, as the ledger and curves.csv take them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sdsl.core import metrics
from sdsl.core.engine import Outcome

STORED = ("online", "online_mean", "past_mean", "final")  # the other curves are in curves.csv


@dataclass(frozen=True)
class Curve:
    """Values at consecutive steps."""

    first_step: int
    values: np.ndarray


@dataclass(frozen=True)
class Results:
    """One run in numbers."""

    metrics: dict[str, float]
    curves: dict[str, Curve]  # for the store
    all_curves: dict[str, np.ndarray]  # for curves.csv


def summarise(outcome: Outcome, probed: Mapping[str, np.ndarray], s: int) -> Results:
    """The numbers of replica s."""
    R, seconds = outcome.R[s], outcome.seconds
    logged = {name: values[s] for name, values in outcome.curves.items()}
    probes = {name: np.asarray(values[s], float) for name, values in probed.items()}
    curves = metrics.curves(R)
    swap = metrics.lasting_swap(logged["test_acc"], logged["test_acc_relabelled"])
    numbers = metrics.summarise(R).as_dict() | {
        "seconds_train": seconds.get("train", 0.0) + seconds.get("label", 0.0),
        "seconds_eval": seconds.get("eval", 0.0),
        "swap_steps": float(swap),
        "lasting_swap": float(swap >= max(3, outcome.R.shape[2] // 10)),
    }
    stored = {name: Curve(1, curves[name]) for name in STORED}
    if outcome.R_context is not None:
        numbers |= metrics.summarise_context(outcome.R_context[s])
        batches = metrics.curves(outcome.R_context[s])
        curves |= {f"{name}_context": batches[name] for name in ("online", "final")}
    if "pseudo_label_acc" in logged:
        stored["pseudo_label_acc"] = Curve(1, logged["pseudo_label_acc"])
        numbers["pseudo_label_acc_mean"] = float(np.nanmean(logged["pseudo_label_acc"]))
    stored |= {name: Curve(0, points) for name, points in probes.items()}
    return Results(numbers, stored, curves | logged | probes)
