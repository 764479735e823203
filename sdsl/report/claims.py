"""The paper's claims (claims.yaml), one per dataset and metric, and the verdict of the runs."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml

from sdsl.report import checks
from sdsl.report.checks import NOT_JUDGED, NOT_RUN, REPRODUCED, Finding
from sdsl.report.names import DATASETS, METRICS, PROTOCOLS, dataset_name, method_name
from sdsl.report.runs import Runs

FILE = Path(__file__).with_name("claims.yaml")
# Keys of an entry that are no parameters of its test.
EXPANDED = ("id", "where", "text", "short", "test", "datasets", "metrics", "sizes")
METRIC_NAMES = METRICS | {"pseudo_label_acc_mean": "pseudo-label accuracy"}
HELD = (
    "under both protocols",
    "with few gold rows only",
    "with much gold only",
    "under neither",
    "cannot be judged here",
)
RULES = """A cell is reproduced where |mean here − paper's mean| ≤ max(2 × the paper's std, 0.02);
out of reach where the best classifier of x alone that was measured (static bound or end of the
static trade-off curve, whichever is higher) lies below the paper's mean by more than that.
An order is reproduced where the 95 % t interval of the paired difference over common seeds excludes
0 in the claimed direction; undecided: the means are in the claimed order, the interval includes 0.
Cannot be judged: the data is a stand-in; fewer than three seeds; accuracy without noise is less
than .1 above guessing, so that noise has nothing to take away; or the verdict is another one on
rows that differ in the seventh digit. Every test: sdsl/report/claims.yaml."""


@dataclass(frozen=True)
class Claim:
    """A statement that a number can decide."""

    id: str
    where: str  # in the paper
    text: str
    test: str  # one of CHECKS
    dataset: str
    given: Mapping[str, Any]  # parameters of the test: metric, methods, limits


class PaperCell(NamedTuple):
    """A number of Table 2."""

    mean: float
    std: float


def paper_cell(method: str, dataset: str) -> PaperCell | None:
    """None where Table 2 has no such method or dataset."""
    return _table_2().get(method, {}).get(dataset)


@functools.cache
def claims() -> list[Claim]:
    """Every claim; the cells of Table 2 come first."""
    return [*_cells(), *_statements()]


def judge(runs: Runs, jittered: Runs | None = None) -> pd.DataFrame:
    """One row per claim, from the runs of one setting: verdicts.csv without its first column.

    `in_paper`: whether the paper's own Table 2 agrees. jittered: the same runs on rows that differ
    in the seventh digit.
    """
    whole_streams = "" in set(runs.frame.setting)  # the paper's: a dataset that is missing shows
    rows = []
    for claim in claims():
        if not whole_streams and claim.dataset not in runs.streams:
            continue
        row = {key: value for key, value in vars(claim).items() if key != "given"}
        finding, standing = check(claim, runs), runs.standing(claim.dataset)
        again = check(claim, jittered).verdict if jittered else NOT_RUN
        if standing == "stand-in" and claim.test != "shape" and finding.verdict != NOT_RUN:
            finding = Finding(NOT_JUDGED, f"the data is a stand-in; {finding.numbers}")
        elif again not in (finding.verdict, NOT_RUN, NOT_JUDGED):
            finding = Finding(NOT_JUDGED, f"jittered rows: {again}; {finding.numbers}")
        row |= vars(finding) | {"standing": standing, "in_paper": in_paper(claim)}
        rows.append(row)
    return pd.DataFrame(rows)


def held(verdicts: pd.DataFrame) -> pd.Series:
    """One of HELD for every claim, over the protocols."""
    of_protocols = verdicts[verdicts.setting.isin([*PROTOCOLS])]
    wide = of_protocols.pivot(index=["where", "id", "text"], columns="setting", values="verdict")
    wide = wide.reindex(columns=[*PROTOCOLS], fill_value=NOT_RUN)
    judged = ~wide.isin([NOT_JUDGED, NOT_RUN])
    few, much = (wide[setting] == REPRODUCED for setting in PROTOCOLS)
    both, few_only, much_only, neither, no = HELD
    found = pd.Series(neither, index=wide.index)
    found[~judged.any(axis=1)] = no
    found[few], found[much], found[few & much] = few_only, much_only, both
    return found


def check(claim: Claim, runs: Runs) -> Finding:
    """The finding of the runs of one setting."""
    try:
        return checks.CHECKS[claim.test](runs, claim.dataset, claim.given)
    except checks.NotRun as missing:
        return Finding(NOT_RUN, str(missing))
    except checks.CannotBeJudged as why:
        return Finding(NOT_JUDGED, str(why))


def in_paper(claim: Claim) -> str:
    """Whether the means of Table 2, which are Acc_T, agree with a claim: yes, no or ''."""
    if claim.given.get("metric") != "acc_final":
        return ""
    means = {method: cells[claim.dataset].mean for method, cells in _table_2().items()}
    return checks.in_table_2(claim.test, means, claim.given)


@functools.cache
def statements() -> dict[str, str]:
    """id -> the claim in general, without a dataset."""
    found = {"cell": "Acc_T of each method on each dataset is the one printed"}
    for entry in _file()["claims"]:
        metrics = [METRIC_NAMES.get(metric, metric) for metric in entry.get("metrics", [])]
        text = entry["text"].replace("{metric}", " and ".join(metrics))
        found[entry["id"]] = entry.get("short", text.replace(" on {dataset}", ""))
    return found


def summary(verdicts: pd.DataFrame) -> str:
    """'12 of the paper's 169 claims can be tested: 5 reproduced, 7 not reproduced'"""
    tested = verdicts[verdicts.verdict != NOT_RUN]
    tally = {v: (tested.verdict == v).sum() for v in checks.VERDICTS}
    parts = ", ".join(f"{n} {verdict}" for verdict, n in tally.items() if n)
    return f"{len(tested)} of the paper's {len(verdicts)} claims can be tested" + (
        f": {parts}" if parts else ""
    )


def _cells() -> Iterator[Claim]:
    corrected = _file()["tolerance_std"]
    for method, cells in _table_2().items():
        for dataset, (mean, std) in cells.items():
            text = f"Acc_T of {method_name(method)} on {dataset_name(dataset)} is {mean:.3f}"
            given = {"metric": "acc_final", "method": method, "mean": mean, "std": std}
            given["tolerance_std"] = corrected.get(f"{method}/{dataset}", std)
            yield Claim("cell", "4.4, Table 2", text, "cell", dataset, given)


def _statements() -> Iterator[Claim]:
    for entry in _file()["claims"]:
        shared = {key: value for key, value in entry.items() if key not in EXPANDED}
        for metric in entry.get("metrics", [None]):
            for dataset in DATASETS if entry["datasets"] == "all" else entry["datasets"]:
                given = shared | entry.get("sizes", {}).get(dataset, {})
                words = given | {"dataset": dataset_name(dataset)}
                if metric:
                    given |= {"metric": metric}
                    words |= {"metric": METRIC_NAMES.get(metric, metric)}
                text = entry["text"].format(**words)
                yield Claim(entry["id"], entry["where"], text, entry["test"], dataset, given)


@functools.cache
def _table_2() -> dict[str, dict[str, PaperCell]]:
    """method -> dataset -> what the paper prints."""
    datasets = _file()["datasets"]
    return {
        method: {d: PaperCell(*pair) for d, pair in zip(datasets, cells, strict=True)}
        for method, cells in _file()["table2"].items()
    }


@functools.cache
def _file() -> dict[str, Any]:
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))
