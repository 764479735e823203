"""Tables: every number as it should be shown, gaps as gaps, names escaped."""

import numpy as np
import pytest
from report_made_up import results

from sdsl.report.output import tables


@pytest.fixture(scope="module")
def table():
    given = results(methods=("st", "jt", "pl_conf", "ours", "static_bound"), datasets=("spam",))
    given.frame.loc[given.frame.variant == "ours", "acc_final"] = [0.7, 0.8, 0.9, 0.8, 0.8]
    given.frame.loc[given.frame.variant == "static_bound", "acc_final"] = 0.95
    return tables.cells(given, "acc_final")


def cell(table, method: str, dataset: str = "spam"):
    return table[(table.method == method) & (table.dataset == dataset)].iloc[0]


def test_a_cell(table):
    ours = cell(table, "ours")
    # The std of .7 .8 .9 .8 .8 with ddof = 1 is .0707.
    assert tables.measured(ours) == "0.800 ± 0.071 (5)"
    assert tables.papers_number(ours) == "0.973 ± 0.012"
    assert ours.static_bound == pytest.approx(0.95)
    assert ours.per_seed == "0:0.7000 1:0.8000 2:0.9000 3:0.8000 4:0.8000"
    assert len(ours.run_ids.split()) == 5
    assert cell(table, "pl_conf").swaps == 1
    assert cell(table, "pl_conf").standing == "own"


def test_best_reads_no_labels(table):
    assert cell(table, "ours").best
    assert not cell(table, "jt").best


def test_gaps_are_shown(table):
    gap = cell(table, "ours", "twonorm")
    assert tables.measured(gap) == "–"
    assert not gap.best
    assert np.isnan(gap["mean"])
    text = tables.markdown(table, "A title")
    assert "| Ours | –<br>paper 0.549 ± 0.021 |" in text
    assert "**0.800 ± 0.071 (5)**<br>paper 0.973 ± 0.012" in text
    assert "1 swap" in text
    assert "| *static bound* | – |" in text
    assert "ddof = 1" in text


def test_acc_t_has_no_number_of_the_paper():
    found = tables.cells(results(methods=("ours",), datasets=("spam",), seeds=1), "acc_online")
    assert found.paper_mean.isna().all()
    assert tables.measured(cell(found, "ours")).endswith(" (1)")
    assert "±" not in tables.measured(cell(found, "ours"))  # one run has no std


def test_every_line_of_the_csv_is_a_cell(table):
    lines = tables.csv(table).splitlines()
    assert lines[0].startswith("method,dataset,mean,std,n,paper_mean,paper_std,static_bound,swaps")
    assert len(lines) == 1 + 4 * 8


NASTY = "<script>&_%$#{}~^\\|"


def test_names_are_text():
    given = results(methods=("ours", NASTY), datasets=("spam", "own|x"), seeds=1)
    found = tables.cells(given, "acc_final")
    text = tables.markdown(found, "t")
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {10, 3}  # eight, then one
