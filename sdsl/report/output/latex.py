"""The same tables for a paper: booktabs, best in bold, every name escaped."""

import re

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
    return re.sub(r"[\\~^<>|&%$#_{}]", lambda found: SPECIAL[found[0]], text)


def latex(table: pd.DataFrame, title: str, label: str) -> str:
    """A table* a block of eight datasets; the preamble needs PACKAGES."""
    parts = [f"% {PACKAGES}"]
    for number, streams in enumerate(tables.split(table)):
        first = table.drop_duplicates("dataset").set_index("dataset")
        heads = " & ".join(escape(dataset_name(s)) for s in streams)
        lines = [
            r"\begin{table*}[t]",
            r"\centering",
            rf"\caption{{{escape(title)}. {_escape_words(tables.LEGEND)}}}",
            rf"\label{{{label}{'' if not number else f'-{number + 1}'}}}",
            r"\resizebox{\textwidth}{!}{%",
            rf"\begin{{tabular}}{{l{'c' * len(streams)}}}",
            r"\toprule",
            rf"Method & {heads} \\",
            r"\midrule",
        ]
        for method in table.method.unique():
            row = tables.by_stream(table, method)
            cells = " & ".join(_own(row.loc[s]) for s in streams)
            lines.append(rf"{escape(method_name(method))} & {cells} \\")
            paper = [_escape_words(tables.printed(row.loc[s])) for s in streams]
            if any(paper):
                shown = " & ".join(rf"\textit{{{p}}}" if p else "" for p in paper)
                lines.append(rf"\quad\textit{{paper}} & {shown} \\")
        bounds = " & ".join(
            _escape_words(tables.bound_text(first.static_bound[s])) for s in streams
        )
        data = " & ".join(escape(first.standing[s]) or "--" for s in streams)
        lines += [
            r"\midrule",
            rf"static bound & {bounds} \\",
            rf"data & {data} \\",
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table*}",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _own(cell: pd.Series) -> str:
    text = _escape_words(tables.own(cell))
    text = rf"\textbf{{{text}}}" if cell.best else text
    return text + (rf"$^{{\mathrm{{{cell.swaps}\,swapped}}}}$" if cell.swaps else "")


def _escape_words(text: str) -> str:
    return escape(text).replace("±", r"$\pm$").replace(tables.GAP, "--")
