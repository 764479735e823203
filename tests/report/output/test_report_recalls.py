"""Balanced accuracy, macro F1 and recall in the report, where runs have logged them."""

import numpy as np
import pytest
from report_made_up import results

from sdsl.report.build import write_tables
from sdsl.report.output import recalls


@pytest.fixture
def given():
    found = results(methods=("st", "ours"), datasets=("spam", "twonorm"), seeds=2)
    frame = found.frame
    frame["balanced_acc_online"] = frame["macro_f1_online"] = 0.625
    frame["recall_ham|x"] = np.where(frame.seed == 0, 0.5, 0.7)
    frame["recall_spam"] = np.where(frame.stream == "spam", 0.25, np.nan)
    return found


def test_recalls(given):
    table = recalls.cells(given)
    assert len(table) == 2 * (2 + 1)  # Twonorm's runs have one of the two classes
    text = recalls.markdown(table, "Recall")
    assert "| method | ham\\|x | spam |" in text
    assert "| Ours | 0.600 ± 0.141 (2) | 0.250 ± 0.000 (2) |" in text


def test_the_tables_are_handed_on_like_the_others(given, tmp_path):
    made = write_tables(given.by_setting(), tmp_path)
    assert [table.metric for table in made][2:] == ["balanced_acc_online", "macro_f1_online"]
    assert made[2].title.startswith("Balanced accuracy of each step's own test part, literal")
    text = (tmp_path / "balanced_acc_online.md").read_text(encoding="utf-8")
    assert "0.625 ± 0.000 (2)" in text
    assert (tmp_path / "macro_f1_online.tex").exists()
    assert "## Spam" in (tmp_path / "recall.md").read_text(encoding="utf-8")


def test_runs_of_an_older_version_have_none(tmp_path):
    old = results(methods=("st",), datasets=("spam",), seeds=1)
    made = write_tables(old.by_setting(), tmp_path)
    assert [table.metric for table in made] == ["acc_final", "acc_online"]
    assert not list(tmp_path.glob("recall*")) and not list(tmp_path.glob("balanced*"))
