"""Results -> the report's folder: tables, statistics, verdicts, figures and the page."""

from pathlib import Path

import pandas as pd

from sdsl.report.claims import comparisons as facts
from sdsl.report.claims import verdicts
from sdsl.report.output import figures, latex, page, tables
from sdsl.report.runs.names import METRICS
from sdsl.report.runs.results import Results


def build(results: Results, out: Path, figures: bool = True) -> list[str]:
    """Everything under out; returns what to tell the person who asked."""
    out.mkdir(parents=True, exist_ok=True)
    settings = {s: results.setting(s) for s in verdicts.SETTINGS if s in set(results.frame.prefix)}
    cells = write_tables(settings, out / "tables")
    judged = write_verdicts(settings, out)
    pictures = draw(settings, out / "figures") if figures else []
    html = page.render(results, settings, judged, cells, pictures)
    (out / "index.html").write_text(html, encoding="utf-8")
    lines = [f"{verdicts.SETTINGS[s]}. {verdicts.summary(v)}." for s, v in judged.items()]
    return [f"{len(results.frame)} runs.", *lines, *results.notes, f"Open {out / 'index.html'}"]


def write_tables(settings: dict[str, Results], folder: Path) -> dict[tuple[str, str], pd.DataFrame]:
    """(setting, metric) -> cells, each as CSV, Markdown and LaTeX."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for setting, results in settings.items():
        for metric in METRICS:
            table = found[setting, metric] = tables.cells(results, metric)
            name = f"{metric}{'' if setting == 'literal' else f'_{setting}'}"
            title = tables.title(metric, verdicts.SETTINGS[setting])
            _write(folder / f"{name}.csv", tables.csv(table))
            _write(folder / f"{name}.md", tables.markdown(table, title))
            _write(folder / f"{name}.tex", latex.latex(table, title, f"tab:{name}"))
    return found


def write_verdicts(settings: dict[str, Results], out: Path) -> dict[str, list[verdicts.Verdict]]:
    """verdicts.md, verdicts.csv and statistics.md."""
    judged = {setting: verdicts.judge(results) for setting, results in settings.items()}
    _write(out / "verdicts.md", verdicts.markdown(judged))
    rows = [{"setting": s, **vars(v)} for s, found in judged.items() for v in found]
    _write(out / "verdicts.csv", pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))
    text = ["# Statistics\n"]
    for setting, results in settings.items():
        text += [f"# {verdicts.SETTINGS[setting]}\n"]
        text += [facts.text(results, metric) for metric in METRICS]
    _write(out / "statistics.md", "\n".join(text))
    return judged


def draw(settings: dict[str, Results], folder: Path) -> list[figures.Picture]:
    return [p for s, results in settings.items() for p in figures.write(results, folder, s)]


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
