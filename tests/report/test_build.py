"""The report's folder: pages and tables from made-up runs of the whole paper and of one method."""

import numpy as np
import pandas as pd
from made_runs import joined, made, with_noise
from support import ROOT

from sdsl.report import build, figures, store, tables
from sdsl.report.names import DATASETS, METHODS
from sdsl.report.tables import Markdown

WHOLE = [m for m, row in METHODS.items() if row["group"] in ("paper", "variant")]
WHOLE += ["record_wide", "ours_pl_balanced"]


def test_a_page_of_the_whole_paper_counts_its_claims_over_both_protocols(tmp_path):
    few = {m: [0.9, 0.8, 0.85] if m == "ours" else [0.5, 0.5, 0.5] for m in WHOLE}
    much = {key: [0.5, 0.5, 0.5] for key in WHOLE}
    both = ("", few), ("gold=segment", much)
    parts = [made(s, setting=g, **own) for s in DATASETS for g, own in both]
    again = made("spam", setting="jitter=1e-6", ours=[0.9, 0.7, 0.85])
    ablated = made("spam", **{"ours (ablation=no_xi)": [0.1234] * 3})
    runs = with_noise(joined(*parts, again, ablated), {"ours": [0.9, 0.9, 0.8]})
    said = build.build(runs, tmp_path, draw=False, readme=True)
    assert [line.partition(":")[0] for line in said[:2]] == ["Few gold rows", "Much gold"]
    page, html = ((tmp_path / name).read_text() for name in ("README.md", "index.html"))
    verdicts = pd.read_csv(tmp_path / "verdicts.csv", keep_default_na=False)
    both = verdicts[verdicts.verdict == "reproduced"].groupby(["id", "text"]).size().eq(2).sum()
    assert f"{both} are reproduced with few gold rows and with much gold" in page
    assert "UG_2C_2D .850, no adaptation .500" in page and "|Ours|" in page
    for text in (page, html):
        assert "few gold rows" in text and "much gold" in text and "nan" not in text
    assert ".850 ~" in page.replace("**", "")  # of spam, which jitter moves
    assert page.count(".123") == 1  # the ablation has a table of its own


def test_a_page_of_real_streams_says_what_majority_is(tmp_path):
    runs = joined(*(made(f"real_{name}", ours=[0.9, 0.8], st=[0.5, 0.5]) for name in "abcdefghi"))
    runs.frame["majority"] = 0.625
    build.build(runs, tmp_path, draw=False, readme=True)
    for name in ("README.md", "index.html"):
        page = (tmp_path / name).read_text()
        assert "an accuracy below it says nothing" in page and "Ours ranks first" in page
    assert "|majority|" + "|".join([".625"] * 9) + "|" in (tmp_path / "README.md").read_text()


def test_a_page_of_one_run_says_what_to_do_next(tmp_path):
    build.build(made("own", ours=[0.5]), tmp_path, draw=False, readme=True)
    page = (tmp_path / "README.md").read_text()
    assert "Run another method to compare" in page and "claims that can be tested" not in page
    cells = pd.read_csv(tmp_path / "tables" / "acc_online.csv")
    assert cells["mean"].tolist() == [0.5] and np.isnan(cells.moved).all()


def test_the_committed_pages_are_made_of_the_committed_runs(tmp_path):
    kept = ROOT / "outputs" / "paper"
    drawn = {name: caption for name, (caption, _) in figures.FIGURES.items()}
    report = build.gather(store.merge([kept]), drawn)
    for name, table in build.csv_files(report).items():
        assert tables.csv(table) == (kept / name).read_text(), name
    build._write(report, tmp_path / "README.md", "readme.md", Markdown())
    assert (tmp_path / "README.md").read_text() == (kept / "README.md").read_text()
