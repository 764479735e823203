"""The paper's names of datasets, methods, metrics and settings, and the order they are shown in."""

from collections.abc import Iterable
from dataclasses import dataclass

DATASETS = {
    "mg_2c_2d": "MG_2C_2D",
    "ug_2c_2d": "UG_2C_2D",
    "ug_2c_3d": "UG_2C_3D",
    "ug_2c_5d": "UG_2C_5D",
    "optdigits": "Optdigits",
    "satimage": "Satimage",
    "spam": "Spam",
    "twonorm": "Twonorm",
}
PAPER_METHODS = {  # the rows of Table 2
    "st": "ST",
    "jt": "JT",
    "pl_conf": "PL_conf",
    "dann": "DANN",
    "eaml": "EAML",
    "record": "Record",
    "ours": "Ours",
}
PAPER_VARIANTS = {
    "ours_record": "Ours_Record",
    "ours_pl": "Ours_PL",
    "ours_wo_ils": "Ours w/o ILS",
    "ours_wo_fr": "Ours w/o FR",
}
# What the paper calls Ours, with nothing that its text does not have: another run of each.
TO_THE_LETTER = {
    "ours": "ours_literal",
    "ours_record": "ours_literal_record",
    "ours_pl": "ours_literal_pl",
    "ours_wo_ils": "ours_literal_wo_ils",
    "ours_wo_fr": "ours_literal_wo_fr",
}
OTHER_METHODS = {  # not in the paper, or not under this name
    "ours_literal": "Ours, to the letter",
    "ours_literal_record": "Ours_Record, to the letter",
    "ours_literal_pl": "Ours_PL, to the letter",
    "ours_literal_wo_ils": "Ours w/o ILS, to the letter",
    "ours_literal_wo_fr": "Ours w/o FR, to the letter",
    "ours_tracker": "Ours, Tracker labels",
    "tracker": "Tracker",
    "scargc": "SCARGC",
    "gst": "GST",
    "cotta": "CoTTA",
    "sar": "SAR",
    "oracle_labels": "True labels",
    "static_bound": "static bound",
}
STATIC_BOUND = "static_bound"  # a measurement of the stream that runs as if it were a method
READ_LABELS = ("jt", "oracle_labels", STATIC_BOUND)  # these are never marked as best
ARCHIVE = "archive_"  # what the names of the archive's streams start with
METRICS = {"acc_final": "Acc_T", "acc_online": "Acc_t"}
CLASS_METRICS = {  # every class weighs the same; older runs lack them
    "balanced_acc_online": "Balanced accuracy of each step's own test part",
    "macro_f1_online": "Macro F1 of each step's own test part",
}


@dataclass(frozen=True)
class Setting:
    """How much of each stream was run: a value of stream.prefix, and what it stands for."""

    id: str
    name: str
    meaning: str

    @property
    def title(self) -> str:
        return f"{self.name}: {self.meaning}"

    @property
    def suffix(self) -> str:
        """What the names of this setting's files end with."""
        return "" if self == LITERAL else f"_{self.id}"


LITERAL = Setting("literal", "Literal streams", "the paper's text to the letter")
CALIBRATED = Setting(
    "calibrated", "Calibrated prefixes", "T chosen after seeing the paper's ST and JT"
)
SETTINGS = (LITERAL, CALIBRATED)


def method_name(method: str) -> str:
    """The name of a method for people: 'Ours (lookback.size=20)'; unknown ones keep theirs."""
    name, space, settings = method.partition(" (")
    known = {**PAPER_METHODS, **PAPER_VARIANTS, **OTHER_METHODS}
    return f"{known.get(name, name)}{space}{settings}"


def dataset_name(dataset: str) -> str:
    """The paper's name of a dataset; other streams keep theirs."""
    return DATASETS.get(dataset, dataset)


def methods_in_order(names: Iterable[str]) -> list[str]:
    """The paper's methods in its order, then the others that are known, then the rest by name."""
    return _in_order(names, [*PAPER_METHODS, *PAPER_VARIANTS, *OTHER_METHODS])


def datasets_in_order(names: Iterable[str]) -> list[str]:
    """The paper's datasets in its order, then the rest by name."""
    return _in_order(names, [*DATASETS])


def _in_order(names: Iterable[str], known: list[str]) -> list[str]:
    given = set(names)
    return [name for name in known if name in given] + sorted(given - set(known))
