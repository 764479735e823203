"""LaTeX tables: whole, escaped, and accepted by pdflatex."""

import shutil
import subprocess

import pytest
from report_made_up import results

from sdsl.report.output import latex, tables

NASTY = "<script>&_%$#{}~^\\|"


@pytest.fixture(scope="module")
def table():
    given = results(methods=("st", "jt", "pl_conf", "ours", "static_bound"), datasets=("spam",))
    given.frame.loc[given.frame.variant == "ours", "acc_final"] = [0.7, 0.8, 0.9, 0.8, 0.8]
    return tables.cells(given, "acc_final")


def test_names_are_text():
    given = results(methods=("ours", NASTY), datasets=("spam", "own|x"), seeds=1)
    text = latex.latex(tables.cells(given, "acc_final"), "t", "tab:t")
    assert r"\textless{}script\textgreater{}\&\_\%\$\#\{\}" in text
    assert r"\label{tab:t}" in text  # the paper's datasets
    assert r"\label{tab:t-2}" in text  # the other stream


def test_latex_is_whole(table):
    text = latex.latex(table, "Acc_T", "tab:x")
    assert r"\textbf{0.800 $\pm$ 0.071 (5)}" in text
    for rule in (r"\toprule", r"\bottomrule"):
        assert text.count(rule) == 1
    assert text.count(r"\begin{") == text.count(r"\end{")
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.replace(r"\&", "").count("&") for line in rows} == {8}
    assert text.isascii()


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_latex_compiles(table, tmp_path):
    given = results(methods=("ours", NASTY), datasets=("spam",), seeds=2)
    more = latex.latex(tables.cells(given, "acc_online"), f"Acc_t, {NASTY}", "tab:y")
    body = latex.latex(table, "Acc_T", "tab:x") + more
    head = rf"\documentclass{{article}}{latex.PACKAGES}\begin{{document}}"
    document = f"{head}\n{body}\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(document)
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
