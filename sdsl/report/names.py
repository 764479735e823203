"""The paper's names of datasets and methods, and the order in which everything is shown."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

PAPER = "MG_2C_2D UG_2C_2D UG_2C_3D UG_2C_5D Optdigits Satimage Spam Twonorm"
DATASETS = {name.lower(): name for name in PAPER.split()}
# name, group (paper: a row of Table 2 | variant: of Ours, in the paper | other), family and colour
with Path(__file__).with_name("methods.csv").open(encoding="utf-8", newline="") as file:
    METHODS = {row["method"]: row for row in csv.DictReader(file)}
PAPER_METHODS = [method for method, row in METHODS.items() if row["group"] == "paper"]
PAPER_VARIANTS = [method for method, row in METHODS.items() if row["group"] == "variant"]
STATIC_BOUND = "static_bound"  # a measurement of the stream that runs as if it were a method
MAJORITY = "majority"  # the answer that is always the same: a row of the tables of real streams
READ_LABELS = ("jt", "oracle_labels", STATIC_BOUND, MAJORITY)
METRICS = {"acc_online": "Acc_t", "acc_final": "Acc_T"}
CLASS_METRICS = {  # every class weighs the same
    "balanced_acc_online": "Balanced accuracy of each step's own test part",
    "macro_f1_online": "Macro F1 of each step's own test part",
}
CONFIDENCE = {  # of methods with probabilities of their own; the lower the better
    "ece": "Calibration error: how sure of a row's label against how often right",
    "estimate_error": "Error of the estimated accuracy, mean over segments",
}
# How many gold rows there are decides more than any method, and the paper does not say it.
PROTOCOLS = {"": "few gold rows", "gold=segment": "much gold"}  # by the column `setting` of a run
SETTINGS = {
    "": "Few gold rows: as many as in RECORD's paper, 1 to 50 a class",
    "gold=segment": "Much gold: as many rows as a segment has unlabelled ones",
    "prefix=calibrated": "Calibrated prefixes: T chosen after seeing the paper's ST and JT",
}


def method_name(method: str) -> str:
    """A method's name for people: 'Ours (lookback.size=20)'; unknown ones keep theirs."""
    name, space, settings = method.partition(" (")
    return METHODS.get(name, {"name": name})["name"] + space + settings


def reads_labels(method: str) -> bool:
    """Whether a method reads true labels, whatever its settings: it is never ranked or best."""
    return method.partition(" (")[0] in READ_LABELS or "labeler=oracle" in method


def dataset_name(dataset: str) -> str:
    """The paper's name of a dataset; other streams keep theirs."""
    return DATASETS.get(dataset, dataset)


def family(dataset: str) -> str:
    """Which streams stand side by side: 'paper', 'archive', 'real', or '' for others."""
    if dataset in DATASETS:
        return "paper"
    return next((name for name in ("archive", "real") if dataset.startswith(f"{name}_")), "")


def methods_in_order(names: Iterable[str]) -> list[str]:
    """The paper's methods in its order, then other known ones, then the rest by name."""
    return in_order(names, METHODS)


def without_labels(names: Iterable[str]) -> list[str]:
    """The methods that read no labels, in order."""
    return [method for method in methods_in_order(names) if not reads_labels(method)]


def in_order(names: Iterable[str], known: Mapping[str, object]) -> list[str]:
    given = set(names)
    return [name for name in known if name in given] + sorted(given - set(known))
