"""The paper's names, order and colours: a method looks the same in every table and figure."""

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
PAPER = {  # Table 2's rows
    "st": "ST",
    "jt": "JT",
    "pl_conf": "PL_conf",
    "dann": "DANN",
    "eaml": "EAML",
    "record": "Record",
    "ours": "Ours",
}
VARIANTS = {
    "ours_record": "Ours_Record",
    "ours_pl": "Ours_PL",
    "ours_wo_ils": "Ours w/o ILS",
    "ours_wo_fr": "Ours w/o FR",
}
ALIASES = {  # the paper's variants as compositions, where conf/ has no method of that name
    "ours (labeler=influence)": "ours_record",
    "ours (labeler=confidence)": "ours_pl",
    "ours (replay=retrain)": "ours_wo_fr",
}
BOUND = "static_bound"
PRIVILEGED = ("jt", "oracle_labels", BOUND)  # they read labels: never "best"
METRICS = {"acc_final": "Acc_T", "acc_online": "Acc_t"}

INK = "#1b1b1f"  # the page turns this one colour into that of its text, so dark works


@dataclass(frozen=True)
class Look:
    colour: str
    dash: str = "-"


# Okabe and Ito's colours, told apart by colour-blind eyes; a variant has a dash of its own too.
LOOKS = {
    "ours": Look("#D55E00"),
    "jt": Look("#009E73"),
    "st": Look(INK),
    "pl_conf": Look("#E69F00"),
    "dann": Look("#56B4E9"),
    "eaml": Look("#CC79A7"),
    "record": Look("#0072B2"),
    "ours_record": Look("#0072B2", "--"),
    "ours_pl": Look("#E69F00", "--"),
    "ours_wo_ils": Look("#CC79A7", "--"),
    "ours_wo_fr": Look("#56B4E9", "--"),
    "scargc": Look("#0072B2", "-."),
    "gst": Look("#E69F00", "-."),
    "cotta": Look("#CC79A7", "-."),
    "sar": Look("#56B4E9", "-."),
    "oracle_labels": Look("#009E73", "-."),
}
OTHERS = ("#D55E00", "#0072B2", "#E69F00", "#CC79A7", "#009E73", "#56B4E9")


def look(method: str) -> Look:
    """A method the paper does not know is dotted, its colour drawn from its name."""
    return LOOKS.get(method) or Look(OTHERS[sum(method.encode()) % len(OTHERS)], ":")


def method_name(method: str) -> str:
    return {**PAPER, **VARIANTS, BOUND: "static bound"}.get(method, method)


def dataset_name(dataset: str) -> str:
    return DATASETS.get(dataset, dataset)


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """The known ones in their order, then the rest by name."""
    names, known = set(names), list(known)
    return [name for name in known if name in names] + sorted(names - set(known))


def methods_in_order(names: Iterable[str]) -> list[str]:
    return in_order(names, [*PAPER, *VARIANTS])


def datasets_in_order(names: Iterable[str]) -> list[str]:
    return in_order(names, DATASETS)
