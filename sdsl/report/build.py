"""Writes the report's folder: tables, statistics, verdicts, figures and the page."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from sdsl.report.aside import archive, context, erratum, lines
from sdsl.report.aside.table import Aside
from sdsl.report.claims import comparisons, verdicts
from sdsl.report.output import figures, latex, page, recalls, tables
from sdsl.report.output.plotting import save, style
from sdsl.report.output.report import Report
from sdsl.report.runs.names import CLASS_METRICS, LITERAL, METRICS, Setting
from sdsl.report.runs.results import Results

BySetting = Mapping[Setting, Results]
STAGES = ("tables", "verdicts and statistics", "figures", "the page")


def build(
    results: Results,
    out: Path,
    with_figures: bool = True,
    begin: Callable[[str], None] = lambda stage: None,
) -> list[str]:
    """Writes everything into `out`; returns lines for the screen. Calls `begin` for each stage."""
    out.mkdir(parents=True, exist_ok=True)
    stage = iter(STAGES)
    begin(next(stage))
    settings = results.paper_and_own().by_setting()
    made = write_tables(settings, out / "tables")
    asides = write_asides(results, out / "tables")
    begin(next(stage))
    judged = write_verdicts(settings, out)
    write_statistics(settings, out)
    begin(next(stage))
    pictures = write_figures(settings, out / "figures") if with_figures else []
    begin(next(stage))
    report = Report(results, settings, judged, made, asides, pictures)
    _write(out / "index.html", page.html(report))
    said = [_said(setting, settings[setting], claims) for setting, claims in judged.items()]
    return [*said, *results.notes, f"Open {out / 'index.html'}"]


def _said(setting: Setting, results: Results, claims: list[verdicts.Verdict]) -> str:
    n = len(results.frame)
    return f"{setting.name}: {n} run{'s' if n > 1 else ''}. {verdicts.tested(claims)}."


def write_tables(settings: BySetting, folder: Path) -> list[tables.Table]:
    """One table per setting and metric, each as CSV, Markdown and LaTeX."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for setting, results in settings.items():
        logged = [name for name in CLASS_METRICS if name in results.frame]
        for metric in (*METRICS, *logged):
            table = tables.Table(setting, metric, tables.cells(results, metric))
            made.append(table)
            _write(folder / f"{table.name}.csv", tables.csv(table.cells))
            _write(folder / f"{table.name}.md", tables.markdown(table.cells, table.title))
            text = latex.latex(table.cells, table.title, f"tab:{table.name}")
            _write(folder / f"{table.name}.tex", text)
        if len(found := recalls.cells(results)):
            name, title = f"recall{setting.suffix}", f"Recall of each class, {setting.name.lower()}"
            _write(folder / f"{name}.csv", tables.csv(found))
            _write(folder / f"{name}.md", recalls.markdown(found, title))
    return made


def write_asides(results: Results, folder: Path) -> list[Aside]:
    """The tables that are not the paper's: in context, archive, erratum; CSV and Markdown."""
    literal = results.of(results.frame.prefix == LITERAL.id)
    made = [*context.tables(literal), *archive.tables(literal), *erratum.tables(literal)]
    for table in made:
        _write(folder / f"{table.name}.csv", table.csv())
        _write(folder / f"{table.name}.md", table.markdown())
    return made


def write_verdicts(settings: BySetting, out: Path) -> dict[Setting, list[verdicts.Verdict]]:
    """verdicts.md and verdicts.csv."""
    judged = {setting: verdicts.judge(results) for setting, results in settings.items()}
    _write(out / "verdicts.md", verdicts.markdown(judged))
    rows = [
        {"setting": setting.id, **vars(v)} for setting, claims in judged.items() for v in claims
    ]
    _write(out / "verdicts.csv", pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))
    return judged


def write_statistics(settings: BySetting, out: Path) -> None:
    """statistics.md"""
    parts = ["# Statistics\n"]
    for setting, results in settings.items():
        parts += [f"# {setting.title}\n"]
        parts += [comparisons.markdown(results, metric) for metric in METRICS]
    _write(out / "statistics.md", "\n".join(parts))


def write_figures(settings: BySetting, folder: Path) -> list[figures.Picture]:
    """Every figure of every setting, as SVG and PDF."""
    pictures = []
    for setting, results in settings.items():
        pictures += figures.write(results, folder, setting)
        with style():
            figure = lines.in_context(results)
        if figure:
            name = f"in_context{setting.suffix}"
            save(figure, folder, name)
            pictures.append(figures.Picture(name, lines.CAPTION))
    return pictures


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
