"""The whole report from an exported folder, whole or partial; every figure both ways."""

import re

import pandas as pd
from report_made_up import SCRIPT, results

from sdsl.report.__main__ import main
from sdsl.report.output import page
from sdsl.report.output.sections.section import table_section
from sdsl.report.runs import export

ORDER = ("answer", "tradeoff", "tables", "curves", "claims", "provenance")


def test_what_is_there(report):
    for name in ("index.html", "verdicts.md", "verdicts.csv", "statistics.md"):
        assert (report / name).stat().st_size > 500, name
    for name in ("acc_final", "acc_online", "acc_final_calibrated"):
        for kind in ("md", "tex", "csv"):
            assert (report / "tables" / f"{name}.{kind}").exists()
    names = {file.stem for file in (report / "figures").glob("*.svg")}
    assert names == {file.stem for file in (report / "figures").glob("*.pdf")}
    paper = {"acc_t", "robust_labelling", "ablation_ils", "memory", "ablation_fr", "flatness"}
    assert paper | {"pseudo_labels", "runs_acc_final", "R_satimage", "beyond"} <= names
    assert "acc_t_calibrated" in names


def own_part(html: str) -> str:
    """The page without Plotly, which is vendored."""
    start = html.index("/**\n* plotly.js (basic")
    return html[:start] + html[html.index("</script>", start) :]


def test_the_page_needs_no_network_and_shows_names_as_text(report):
    html = own_part((report / "index.html").read_text())
    assert SCRIPT not in html
    assert "&lt;script&gt;" in html
    assert "a &lt;b&gt;note&lt;/b&gt;" in html
    assert html.count("<script") == 4  # the numbers, Plotly and our two
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', html)
    assert not re.findall(r"@import|url\((?!#)", html)
    links = re.findall(r'href="([^"#]+)"', html)
    assert {link.partition("/")[0] for link in links} >= {"figures", "tables", "verdicts.md"}
    assert all((report / link).exists() for link in links)


def test_plotly_is_embedded_once_with_its_license(report):
    html = (report / "index.html").read_text()
    assert html.count("plotly.js (basic - minified)") == 1
    assert "MIT License" in (page.ASSETS / "plotly-LICENSE").read_text()
    assert len(html) < 3_000_000


def test_the_page_opens_on_the_answer(report):
    html = (report / "index.html").read_text()
    first = html.index('<h2 class="headline">')
    assert first < html.index("<table") and first < html.index("reproduced</button>")
    assert [html.index(f'<section id="{name}"') for name in ORDER] == sorted(
        html.index(f'<section id="{name}"') for name in ORDER
    )


def test_one_run_gives_a_page_about_that_run(tmp_path, capsys):
    given = results(methods=("ours",), datasets=("spam",), seeds=1, T=3)
    export.write(given, tmp_path / "given")
    words = ["--from", str(tmp_path / "given"), "--out", str(tmp_path / "out")]
    assert main(words) == 0
    html = own_part((tmp_path / "out" / "index.html").read_text())
    assert "One run: Ours on Spam, seed 0." in html
    assert "not run</button>" not in html
    assert (
        "Literal streams: 1 run. They test 2 of the paper's 169 claims" in capsys.readouterr().out
    )
    tables = re.findall(r"<thead>.*?</thead>", html, flags=re.DOTALL)
    assert "Spam" in tables[0] and "Twonorm" not in tables[0]
    assert "not run" not in (tmp_path / "out" / "figures" / "acc_t.svg").read_text()


def test_a_table_can_be_added_as_a_section():
    made = table_section("mine", "Mine", "What it says.", pd.DataFrame({"a<b": [0.12345, 2.0]}))
    assert "What it says." in made.html
    assert "a&lt;b" in made.html
    assert ">0.123</td>" in made.html


def test_several_folders_are_read_as_one(tmp_path):
    for name, methods in (("one", ("st", "ours")), ("two", ("st", "ours", "jt"))):
        export.write(results(methods=methods, datasets=("spam",), seeds=1, T=3), tmp_path / name)
    found = export.read_all([tmp_path / "one", tmp_path / "two"])
    assert set(found.frame.variant) == {"st", "ours", "jt"}
    assert found.frame.index.is_unique
    assert set(found.R) == set(found.frame.index)


def test_provenance_is_on_the_page(report):
    html = (report / "index.html").read_text()
    runs = export.read(report.parent / "given").frame
    assert all(run in html for run in runs.index)
    for column in ("data_sha256", "stream_sha256", "config_sha256", "code_sha256"):
        assert all(value in html for value in runs[column].unique()), column


def test_ids_are_unique(report):
    html = own_part((report / "index.html").read_text())
    ids = re.findall(r'\bid="([^"]*)"', html)
    assert len(ids) == len(set(ids))


def test_the_same_runs_give_the_same_files(tmp_path):
    given = results(methods=("st", "ours"), datasets=("spam",), seeds=2, T=3)
    export.write(given, tmp_path / "given")
    for name in ("one", "two"):
        words = ["--from", str(tmp_path / "given"), "--out", str(tmp_path / name)]
        assert main([*words, "--no-figures"]) == 0
    for file in (tmp_path / "one").rglob("*.*"):
        other = tmp_path / "two" / file.relative_to(tmp_path / "one")
        assert other.read_bytes() == file.read_bytes(), file


def test_a_folder_without_results_is_refused_in_words(tmp_path, capsys):
    assert main(["--from", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "holds no exported results" in capsys.readouterr().err


def test_it_says_what_it_is_at(tmp_path, capsys):
    export.write(results(seeds=1, T=2), tmp_path)
    assert main(["--from", str(tmp_path), "--out", str(tmp_path / "out"), "--no-figures"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "report: 1 of 5, reading the runs"
    assert lines[-1].startswith("report: 5 of 5, the page, ") and len(lines) == 5
