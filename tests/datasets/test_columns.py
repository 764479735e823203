"""Columns to numbers by value, how files are read, and the sentences that refuse them."""

import numpy as np
import pandas as pd
import pytest

from sdsl.datasets.columns import Odd, Plan, prepare
from sdsl.datasets.files import read
from sdsl.datasets.tables import encoded, framed
from sdsl.errors import UserError

TIMES = ["2026-03-01 01:15", "2026-03-02 13:15", "2026-03-07 23:15", "2026-03-08 0:15"]
GOLD = pd.DataFrame({"size": ["1", "2", "", "10"], "shape": list("bab?"), "when": TIMES})
GOLD = GOLD.assign(same="7", label=list("xyxy"))


def test_numbers_categories_and_times_become_numbers_and_gaps_golds_middle():
    plan = prepare(GOLD, "label")
    names = ["size", "when_hour", "when_weekday", "shape=a", "shape=b"]
    assert plan.features == names  # minutes and `same` do not vary; days and months only go on
    X = plan.transform(GOLD)
    # 2026-03-01 is a Sunday; size 2 is the median, shape b the most frequent.
    first, last = [[1, 1, 7, 0, 1], [2, 13, 1, 1, 0]], [[2, 23, 6, 0, 1], [10, 0, 7, 0, 1]]
    np.testing.assert_array_equal(X, np.float32(first + last))
    again = Plan.from_plain(plan.plain())
    np.testing.assert_array_equal(again.transform(GOLD), X)
    assert any("1 missing in gold, filled with the median" in line for line in plan.told())


@pytest.mark.parametrize(("cells", "sentence"), [
    ({"shape": list("acde")}, r"column shape: 3 of 4 cells are no category of gold, such as 'c'"),
    ({"size": ["1", "2", "3", "many"]}, "row 4, column size: expected a finite number"),
    ({"when": ["soon"] + ["2026-03-01 01:15"] * 3}, "row 1, column when: expected a time"),
    ({"extra": ["1"] * 4}, "column extra was not in gold"),
    ({"size": None}, "column size is missing"),
])  # fmt: skip
def test_rows_unlike_gold_are_refused_by_row_and_column(cells, sentence):
    frame = GOLD.assign(**cells) if None not in cells.values() else GOLD.drop(columns=[*cells])
    with pytest.raises(UserError, match=sentence):
        prepare(GOLD, "label").transform(frame)


def test_gold_that_cannot_be_learnt_from_is_refused():
    names = pd.DataFrame({"id": [f"n{i}" for i in range(200)], "label": list("xy") * 100})
    with pytest.raises(UserError, match=r"200 different texts in 200 gold rows.*drop=\[id\]"):
        prepare(names, "label")
    thousands = pd.DataFrame({"x": ["1,234", "999"] * 6, "label": list("xy") * 6})
    with pytest.raises(UserError, match=r"column x: in '1,234' the comma may be decimal or not"):
        prepare(thousands, "label")
    with pytest.raises(UserError, match=r"no column to learn from.*constant in gold"):
        prepare(GOLD[["same", "label"]], "label")
    with pytest.raises(UserError, match=r"no column 'sise'.*Did you mean 'size'"):
        prepare(GOLD, "label", drop=["sise"])


DAYS = pd.date_range("2026-02-01 10:05", periods=12, freq="25h")  # to the 12th, a Thursday
READ = {  # cells of a column in gold -> what is said of it, the last row of its features
    "decimal commas": (["1,5", "2", "3"] * 4, "x: a number, decimals with a comma", [3.0]),
    "infinite": (["1", "inf", "-inf", "2"] * 3, "6 missing (6 infinite) in gold", [2.0]),
    "days first": (DAYS.strftime("%d/%m/%Y %H:%M"), "(%d/%m/%Y %H:%M)", [21.0, 4.0]),
    "months first": (DAYS.strftime("%m/%d/%Y %H:%M"), "(%m/%d/%Y %H:%M)", [21.0, 4.0]),
    "an id": (range(7, 19), "x: only grows in gold, left out (keep=[x])", []),
    "few values": ([1] * 6 + [2] * 6, "x: a number", [2.0]),
}


@pytest.mark.parametrize(("cells", "said", "last"), READ.values(), ids=READ)
def test_columns_as_people_have_them(cells, said, last):
    gold = pd.DataFrame({"x": [str(cell) for cell in cells], "y": ["1", "2", "1"] * 4})
    plan = prepare(gold, "label")
    assert said in plan.told()[0] and plan.transform(gold)[-1, :-1].tolist() == last
    assert len(prepare(gold, "label", keep=["x"]).features) == 1 + (len(last) or 1)


def test_what_is_taken_as_missing_is_counted(caplog):
    plan, odd = prepare(GOLD, "label"), Odd()
    frame = GOLD.assign(shape=["a", "c", "b", "?"], size=["1", "inf", "3", "-inf"])
    X = plan.transform(frame, 0, odd)
    assert X[:, 0].tolist() == [1, 2, 3, 2] and X[1, 3:].tolist() == [0, 1]
    expected = ["column size: 2 of 4 cells infinite, taken as missing"]
    expected += ["column shape: 1 of 4 cells not in gold ('c'), taken as missing"]
    assert plan.remarks(odd, 4) == expected
    plan.transform(frame)  # without a counter they are logged
    assert [record.message for record in caplog.records] == expected


@pytest.mark.parametrize(("text", "columns", "rows"), [
    ("a,b,label\n1,2,x\n3,4,y\n", ["a", "b", "label"], 2),
    ("a;b;label\n1;2;x\n3;4;y\n", ["a", "b", "label"], 2),
    ("\ufeff1 2 x\n3   4 y\n5 6 x\n7 8 y\n", ["0", "1", "2"], 4),  # blanks, no header
    ("1,5;2;x\n2,5;3;y\n4;5,5;x\n", ["0", "1", "2"], 3),
    ("a,b\tlabel\n1;5\tx\n".replace(",", " "), ["a b", "label"], 1),
    ('a,label\n"1\n",x\n2,y\n', ["a", "label"], 2),  # a line break in quotes
])  # fmt: skip
def test_delimiters_and_headers_are_found(text, columns, rows, tmp_path):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    frame = framed(read(tmp_path / "x.csv"), columns[-1])
    assert list(frame.columns.columns) == columns and len(frame) == rows


def test_classes_are_ordered_as_numbers_where_they_are_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("a,label\n1,10\n2,9.0\n3,b\n4,10\n")
    y, classes = encoded([framed(read(tmp_path / "x.csv"), "label")], "label")
    assert classes == ("9", "10", "b") and y.tolist() == [1, 0, 2, 1]
