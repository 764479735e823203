"""claims.yaml held against the runs: one verdict a claim, counted, with the numbers."""

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from sdsl.report.claims import checks
from sdsl.report.runs.names import METRICS, PAPER, dataset_name, method_name
from sdsl.report.runs.results import Results

FILE = Path(__file__).with_name("claims.yaml")
LABELS = {**METRICS, "pseudo_label_acc_mean": "pseudo-label accuracy", "forgetting": "forgetting"}
SETTINGS = {
    "literal": "Literal streams: the paper's text to the letter",
    "calibrated": "Calibrated prefixes: T chosen after seeing the paper's ST and JT",
}

RULES = """A cell is reproduced where |mean here − paper's mean| ≤ max(2 × the paper's std, 0.02);
out of reach where the stream's measured static bound lies below the paper's mean by more than that.
An order is reproduced where the 95 % paired bootstrap interval of the difference over common seeds
excludes 0 in the claimed direction; undecided: the means are in the claimed order, the interval
includes 0. Every test: sdsl/report/claims.yaml. Data: the standing of the rows behind a verdict."""


@dataclass(frozen=True)
class Verdict:
    id: str
    where: str
    text: str
    test: str
    dataset: str
    verdict: str
    numbers: str
    undecided: bool
    standing: str  # of the data behind it
    in_paper: str  # whether the paper's own Table 2 bears it out: yes, no or ''


@functools.cache
def book() -> dict[str, Any]:
    return OmegaConf.to_container(OmegaConf.load(FILE))


def paper_cell(method: str, dataset: str) -> tuple[float, float] | None:
    """(mean, std) of Table 2."""
    if method not in book()["table2"] or dataset not in book()["datasets"]:
        return None
    return tuple(book()["table2"][method][book()["datasets"].index(dataset)])


def claims() -> Iterator[dict[str, Any]]:
    """Every claim, one a dataset and metric, Table 2's cells first."""
    stds = book()["tolerance_std"]
    for method in PAPER:
        for dataset in book()["datasets"]:
            mean, std = paper_cell(method, dataset)
            text = f"Acc_T of {method_name(method)} on {dataset_name(dataset)} is {mean:.3f}"
            cell = {"test": "cell", "method": method, "mean": mean, "std": std, "text": text}
            own = stds.get(f"{method}/{dataset}")
            cell |= {"tolerance_std": own} if own else {}
            where = {"id": "cell", "where": "4.4, Table 2", "metric": "acc_final"}
            yield {**cell, **where, "dataset": dataset}
    for claim in book()["claims"]:
        names = book()["datasets"] if claim["datasets"] == "all" else claim["datasets"]
        for metric in claim.get("metrics", [""]):
            for dataset in names:
                fill = {"dataset": dataset_name(dataset), "metric": LABELS.get(metric, metric)}
                own = {"dataset": dataset, "metric": metric}
                if size := claim.get("sizes", {}).get(dataset):
                    own["size"] = size
                    fill |= zip(("rows", "features", "classes"), size, strict=True)
                yield {**claim, **own, "text": claim["text"].format(**fill)}


def judge(results: Results) -> list[Verdict]:
    """A verdict for every claim, from the runs of one setting."""
    found = []
    expected = results.expected()
    for claim in (claim for claim in claims() if claim["dataset"] in expected):
        finding = checks.run(claim, claim["dataset"], results)
        found.append(
            Verdict(
                claim["id"],
                claim["where"],
                claim["text"],
                claim["test"],
                claim["dataset"],
                finding.verdict,
                finding.numbers,
                finding.undecided,
                results.standing(claim["dataset"]),
                in_paper(claim),
            )
        )
    return found


def in_paper(claim: dict[str, Any]) -> str:
    """Whether the means of the paper's own Table 2 bear an Acc_T claim out."""
    if claim.get("metric") != "acc_final" or claim["test"] not in ("order", "bound", "nearest"):
        return ""
    mean = {m: cell[0] for m in PAPER if (cell := paper_cell(m, claim["dataset"]))}
    if claim["test"] == "order":
        better = [claim["better"]] if isinstance(claim["better"], str) else claim["better"]
        if not {*better, *claim["than"]} <= set(mean):
            return ""
        holds = all(mean[a] > mean[b] for a in better for b in claim["than"])
    elif claim["test"] == "bound":
        own = mean[claim["method"]]
        holds = all(mean[m] <= own for m in claim.get("over", ()))
        holds &= all(mean[m] >= own for m in claim.get("under", ()))
    else:
        gaps = {m: abs(mean[m] - mean[claim["target"]]) for m in claim["among"]}
        holds = min(gaps, key=gaps.get) == claim["method"]
    return "yes" if holds else "no"


def counts(verdicts: list[Verdict]) -> dict[str, int]:
    """Verdict -> how many, in the order of VERDICTS."""
    found = Counter(v.verdict for v in verdicts)
    return {name: found[name] for name in checks.VERDICTS}


def summary(verdicts: list[Verdict]) -> str:
    """'12 reproduced, 3 not reproduced (1 of them undecided: ...), ...; 136 claims'."""
    n = counts(verdicts)
    undecided = sum(v.undecided for v in verdicts)
    words = [f"{count} {name}" for name, count in n.items()]
    if undecided:
        words[1] += f" ({undecided} of them: means in the claimed order, interval includes 0)"
    return f"{len(verdicts)} claims: {', '.join(words)}"


def markdown(judged: Mapping[str, list[Verdict]]) -> str:
    """verdicts.md: the counts, then every claim with its numbers, a section a setting."""
    lines = ["# Verdicts", ""]
    for setting, found in judged.items():
        lines += [f"- {SETTINGS[setting]}. {summary(found)}."]
    lines += ["", RULES, ""]
    for setting, found in judged.items():
        lines += [f"## {SETTINGS[setting]}", ""]
        lines += ["| verdict | claim | numbers | where | data | in the paper's Table 2 |"]
        lines += ["|---|---|---|---|---|---|"]
        for v in found:
            shown = f"{v.verdict}{' (undecided)' if v.undecided else ''}"
            cells = (shown, v.text, v.numbers, v.where, v.standing or "–", v.in_paper)
            lines.append(f"| {' | '.join(cell.replace('_', chr(92) + '_') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines)
