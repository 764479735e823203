"""In context and the archive: tables and a figure of their own, nothing of them in the paper's."""

import pandas as pd
import pytest
from report_made_up import results

from sdsl.report.aside import archive
from sdsl.report.build import build
from sdsl.report.runs.results import Results


@pytest.fixture(scope="module")
def given() -> Results:
    paper = results(("st", "ours", "tracker"), ("spam",), seeds=2, T=3, context=("tracker",))
    names = ("archive_1cdt", "archive_2cht")
    others = results(("st", "scargc"), names, seeds=2, T=3)
    others.frame.index = [f"f{run[1:]}" for run in others.frame.index]
    others.frame.index.name = "run_id"
    R = {f"f{run[1:]}": matrix for run, matrix in others.R.items()}
    frame = pd.concat([paper.frame, others.frame])
    return Results(frame, {**paper.R, **R}, paper.curves, (), "", paper.R_context)


@pytest.fixture(scope="module")
def out(given, tmp_path_factory):
    folder = tmp_path_factory.mktemp("aside")
    build(given, folder)
    return folder


def table(out, name: str) -> pd.DataFrame:
    return pd.read_csv(out / "tables" / f"{name}.csv").set_index("method")


def test_in_context_has_a_table_of_its_own(given, out):
    row = table(out, "in_context").loc["Tracker"]
    assert row["stream"] == "Spam"
    for head, metric in (
        ("Acc_T in context", "acc_final_context"),
        ("Acc_t in context", "acc_online_context"),
        ("Acc_T", "acc_final"),
    ):
        values = given.frame[given.frame.variant == "tracker"][metric]
        assert row[head] == f"{values.mean():.3f} ± {values.std(ddof=1):.3f} (2)"
    text = (out / "tables" / "in_context.md").read_text()
    assert "another task than the paper's" in text and "| Acc\\_T in context |" in text


def test_in_context_has_a_figure_of_its_own(out):
    assert (out / "figures" / "in_context.svg").stat().st_size > 5000
    assert "figure-in_context" in (out / "index.html").read_text() or (
        "figures/in_context.svg" in (out / "index.html").read_text()
    )


def test_both_have_tables_on_the_page(out):
    html = (out / "index.html").read_text()
    for name in ("in_context", "archive_acc_online", "archive_acc_final"):
        assert f'id="table-{name}"' in html, name
        assert f'href="tables/{name}.csv"' in html, name


def test_the_papers_tables_hold_neither(out):
    for file in (out / "tables").glob("acc_*"):
        text = file.read_text().lower()
        assert "context" not in text and "archive" not in text, file
    for name in ("verdicts.md", "verdicts.csv", "statistics.md"):
        assert "archive" not in (out / name).read_text(), name


def test_the_archive_stands_beside_what_others_published(given, out):
    rows = table(out, "archive_acc_online")
    assert list(rows.columns) == ["1cdt", "2cht"]
    values = given.scores("scargc", "archive_2cht", "acc_online")
    assert rows["2cht"]["SCARGC"] == f"{values.mean():.3f} ± {values.std(ddof=1):.3f} (2)"
    amanda = rows.filter(like="AMANDA-FCP", axis=0).iloc[0]
    assert amanda.tolist() == ["100.0 %", "85.6 %"]
    text = (out / "tables" / "archive_acc_online.md").read_text()
    assert "another protocol" in text and "Information Sciences" in text
    assert "published" not in (out / "tables" / "archive_acc_final.md").read_text()


def test_every_published_method_covers_the_archive():
    assert len(archive.published()) == 4
    for one in archive.published():
        assert len(one.accuracy) == 8 and one.cites
        assert all(50 <= percent <= 100 for percent in one.accuracy.values())


def test_without_either_there_are_no_such_tables(tmp_path):
    build(results(("st",), ("spam",), seeds=1, T=2), tmp_path, with_figures=False)
    names = {file.stem for file in (tmp_path / "tables").iterdir()}
    assert names == {"acc_final", "acc_online"}
