"""The numbers of one replica of an outcome, as the ledger and curves.csv take them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sdsl.core import confusion, metrics
from sdsl.core.engine import Outcome
from sdsl.tracking.metric_names import mlflow_name, per_class

STORED = ("online", "online_mean", "past_mean", "final")  # the other curves are in curves.csv
# What the engine itself logs at every step; all else is from the labeler or the replay.
ENGINES = (
    *("test_acc", "test_acc_relabelled", "pseudo_label_acc", "pseudo_label_acc_relabelled"),
    "pseudo_label_balanced_acc",
    *("memory_numbers", "model_numbers"),
)
STEP = "step/"  # before the name of a value that a component reports; a section of `mlflow ui`
# Points in the store: of one curve, and of all that components report together. 100 points take
# 30 kB of database; curves.csv has every step.
MOST, MOST_OF_COMPONENTS = 1000, 100
MOST_CLASSES = 20  # a curve of recall for each in the store; curves.csv has them for any number


@dataclass(frozen=True)
class Curve:
    """Values at consecutive steps."""

    first_step: int
    values: np.ndarray
    most: int = MOST  # points in the store


@dataclass(frozen=True)
class Results:
    """One run in numbers."""

    metrics: dict[str, float]
    curves: dict[str, Curve]  # for the store
    all_curves: dict[str, np.ndarray]  # for curves.csv


def summarise(
    outcome: Outcome, probed: Mapping[str, np.ndarray], s: int, classes: Sequence[str]
) -> Results:
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
        balanced = logged["pseudo_label_balanced_acc"]
        stored["pseudo_label_balanced_acc"] = Curve(1, balanced)
        numbers["pseudo_label_balanced_acc_mean"] = float(np.nanmean(balanced))
    by_class, weighted = class_numbers(outcome.confusion[s], outcome.final_confusion[s], classes)
    few = len(classes) <= MOST_CLASSES
    stored |= {
        name: Curve(1, points)
        for name, points in by_class.items()
        if few or not name.startswith("step_recall_")
    }
    stored |= {name: Curve(0, points) for name, points in probes.items()}
    own = [name for name in logged if name not in ENGINES]
    most = MOST_OF_COMPONENTS // max(1, len(own))
    stored |= {f"{STEP}{mlflow_name(name)}": Curve(1, logged[name], most) for name in own}
    return Results(numbers | weighted, stored, curves | logged | by_class | probes)


def class_numbers(
    steps: np.ndarray, last: np.ndarray, classes: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """(curves, metrics) that weigh classes the same, and recall of each: core/confusion.py."""
    recalls = confusion.recall(steps)  # [T, C]
    curves = {
        "balanced_acc": confusion.balanced_accuracy(steps),
        "macro_f1": confusion.macro_f1(steps),
    } | dict(zip(per_class("step_recall", classes), recalls.T, strict=True))
    pooled = confusion.recall(steps.sum(0))
    online = zip(per_class("recall", classes), map(float, pooled), strict=True)
    known = {name: value for name, value in online if np.isfinite(value)}
    return curves, confusion.summarise(steps, last).as_dict() | known
