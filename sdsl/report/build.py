"""Writes a report's folder: tables, verdicts, figures, index.html and README.md."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined

from sdsl.report import claims, figures, statistics, tables
from sdsl.report.document import Document, Report
from sdsl.report.names import CLASS_METRICS, CONFIDENCE, METRICS, SETTINGS, method_name
from sdsl.report.runs import Runs, is_short
from sdsl.report.tables import Html, Markdown
from sdsl.tracking import PROBED

HERE = Path(__file__).parent


def build(runs: Runs, out: Path, draw: bool = True, readme: bool = False) -> list[str]:
    """Writes everything into `out`; returns lines for the screen."""
    report = gather(runs, figures.write(runs.by_setting(), out / "figures") if draw else {})
    (out / "tables").mkdir(parents=True, exist_ok=True)
    for name, table in csv_files(report).items():
        (out / name).write_text(tables.csv(table), encoding="utf-8")
    _write(report, out / "index.html", "page.html", Html())
    if readme:
        _write(report, out / "README.md", "readme.md", Markdown())
    said = []
    for setting, found in report.settings.items():
        judged = report.verdicts[report.verdicts.setting == setting]
        verdict = f" {claims.summary(judged)}." if len(judged) else ""
        name = SETTINGS.get(setting, setting).partition(":")[0]
        said.append(f"{name}: {len(found.frame)} runs.{verdict}")
    return [*said, *(f"{note}." for note in runs.notes), f"Open {out / 'index.html'}"]


def gather(runs: Runs, drawn: dict[str, str]) -> Report:
    """Every table and verdict. `drawn`: the captions of the figures that were saved."""
    settings = runs.by_setting()
    of_paper = {s: one for s, one in settings.items() if one.paper_streams and not is_short(s)}
    jittered = runs.jittered()
    judged = {s: claims.judge(one, jittered.get(s)) for s, one in of_paper.items()}
    probed = sorted(name for name in runs.frame if name.startswith(PROBED))
    known = [m for m in (*METRICS, *CLASS_METRICS, *CONFIDENCE, *probed) if m in runs.frame]
    cells = {metric: tables.cells(settings, jittered, metric) for metric in known}
    return Report(runs, _by(["setting"], judged or {"": pd.DataFrame()}), cells, drawn)


def csv_files(report: Report) -> dict[str, pd.DataFrame]:
    """File name -> table."""
    files = {f"tables/{metric}.csv": table for metric, table in report.cells.items()}
    ranks = {key: found.table.reset_index() for key, found in report.rankings.items()}
    gaps = {
        (setting, metric): statistics.differences(runs, metric)
        for setting, runs in report.settings.items()
        for metric in METRICS
        if "ours" in runs.variants
    }
    if ranks:
        files["tables/ranking.csv"] = _by(["setting", "metric"], ranks)
    if gaps:
        files["tables/differences.csv"] = _by(["setting", "metric"], gaps)
    return {"verdicts.csv": report.verdicts, **files}


def _by(keys: list[str], parts: Mapping[Any, pd.DataFrame]) -> pd.DataFrame:
    """All parts in one table; their keys are its first columns."""
    whole = pd.concat(parts, names=keys)
    return whole.reset_index(level=keys).reset_index(drop=True)


def _write(report: Report, file: Path, template: str, writer: Markdown) -> None:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = (HERE / template).read_text(encoding="utf-8")
    documents = [Document(report, writer, setting) for setting in report.settings]
    rendered = environment.from_string(text).render(
        report=report,
        documents=documents,
        first=documents[0],
        by={document.setting: document for document in documents},
        text=writer.text,
        method_name=method_name,
        settings=SETTINGS,
        about=tables.about,
        published=lambda streams: tables.published(writer, streams),
        file_name=figures.file_name,
        rules=claims.RULES,
        metrics={m: f"{m.removeprefix(PROBED)}, as the probe measured" for m in report.cells}
        | METRICS
        | CLASS_METRICS
        | CONFIDENCE,
    )
    file.write_text(re.sub(r"\n{3,}", "\n\n", rendered.rstrip()) + "\n", encoding="utf-8")
