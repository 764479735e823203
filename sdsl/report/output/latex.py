"""The tables for a paper: LaTeX with booktabs, the best in bold, every name escaped."""

import re
from collections.abc import Sequence

import pandas as pd

from sdsl.report.output import tables
from sdsl.report.runs.names import dataset_name, method_name

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}
PACKAGES = r"\usepackage{booktabs,graphicx}"


def escape(text: str) -> str:
    """Text without special meaning to LaTeX."""
    return re.sub(r"[\\~^<>|&%$#_{}]", lambda found: SPECIAL[found[0]], text)


def latex(table: pd.DataFrame, title: str, label: str) -> str:
    """One table* per block of datasets; the document's preamble needs PACKAGES."""
    parts = [f"% {PACKAGES}"]
    for number, block in enumerate(tables.blocks(table), 1):
        own_label = label if number == 1 else f"{label}-{number}"
        parts.append("\n".join(_block(table, block, title, own_label)))
    return "\n\n".join(parts) + "\n"


def _block(table: pd.DataFrame, block: Sequence[str], title: str, label: str) -> list[str]:
    """The lines of one table*."""
    heads = " & ".join(escape(dataset_name(stream)) for stream in block)
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{escape(title)}. {_typeset(tables.LEGEND)}}}",
        rf"\label{{{label}}}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'c' * len(block)}}}",
        r"\toprule",
        rf"Method & {heads} \\",
        r"\midrule",
    ]
    for method in table.method.unique():
        row = tables.row_of(table, method)
        cells = " & ".join(_measured(row.loc[stream]) for stream in block)
        lines.append(rf"{escape(method_name(method))} & {cells} \\")
        paper = [_typeset(tables.papers_number(row.loc[stream])) for stream in block]
        if any(paper):
            shown = " & ".join(rf"\textit{{{p}}}" if p else "" for p in paper)
            lines.append(rf"\quad\textit{{paper}} & {shown} \\")
    streams = tables.by_dataset(table)
    bounds = [_typeset(tables.bound_text(streams.static_bound[stream])) for stream in block]
    standings = [escape(streams.standing[stream]) or "--" for stream in block]
    return [
        *lines,
        r"\midrule",
        rf"static bound & {' & '.join(bounds)} \\",
        rf"data & {' & '.join(standings)} \\",
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table*}",
    ]


def _measured(cell: pd.Series) -> str:
    text = _typeset(tables.measured(cell))
    text = rf"\textbf{{{text}}}" if cell.best else text
    return text + (rf"$^{{\mathrm{{{cell.swaps}\,swapped}}}}$" if cell.swaps else "")


def _typeset(text: str) -> str:
    return escape(text).replace("±", r"$\pm$").replace(tables.GAP, "--")
