"""Columns to numbers by value, how files are read, and the sentences that refuse them."""

import numpy as np
import pandas as pd
import pytest

from sdsl.datasets.columns import Plan, prepare
from sdsl.datasets.files import read
from sdsl.datasets.tables import encoded, framed, written
from sdsl.errors import UserError

GOLD = pd.DataFrame(
    {
        "size": ["1", "2", "", "10"],
        "shape": ["b", "a", "b", "?"],
        "when": [
            f"2026-03-0{day} {hour}:15" for day, hour in ((1, "01"), (2, 13), (7, 23), (8, 0))
        ],
        "same": ["7"] * 4,
        "label": list("xyxy"),
    }
)


def test_numbers_categories_and_times_become_numbers_and_gaps_golds_middle():
    plan = prepare(GOLD, "label")
    names = ["size", "when_hour", "when_weekday", "shape=a", "shape=b"]
    assert plan.features == names  # minutes and `same` do not vary; days and months only go on
    X = plan.transform(GOLD)
    np.testing.assert_array_equal(
        X,  # 2026-03-01 is a Sunday; size 2 is the median, shape b the most frequent
        np.array(
            [[1, 1, 7, 0, 1], [2, 13, 1, 1, 0], [2, 23, 6, 0, 1], [10, 0, 7, 0, 1]], np.float32
        ),
    )
    again = Plan.from_plain(plan.plain())
    np.testing.assert_array_equal(again.transform(GOLD), X)
    assert any("1 missing in gold, filled with the median" in line for line in plan.told())


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"shape": ["a", "c", "a", "a"]}, "row 2, column shape: expected a category of gold"),
        ({"size": ["1", "2", "3", "many"]}, "row 4, column size: expected a finite number"),
        ({"when": ["soon"] + ["2026-03-01 01:15"] * 3}, "row 1, column when: expected a time"),
        ({"extra": ["1"] * 4}, "column extra was not in gold"),
        ({"size": None}, "column size is missing"),
    ],
)
def test_rows_unlike_gold_are_refused_by_row_and_column(cells, sentence):
    frame = GOLD.assign(**cells) if None not in cells.values() else GOLD.drop(columns=[*cells])
    with pytest.raises(UserError, match=sentence):
        prepare(GOLD, "label").transform(frame)


def test_gold_that_cannot_be_learnt_from_is_refused():
    names = pd.DataFrame({"id": [f"n{i}" for i in range(200)], "label": list("xy") * 100})
    with pytest.raises(UserError, match=r"200 different texts in 200 gold rows.*drop=\[id\]"):
        prepare(names, "label")
    with pytest.raises(UserError, match=r"no column to learn from.*constant in gold"):
        prepare(GOLD[["same", "label"]], "label")
    with pytest.raises(UserError, match=r"no column 'sise'.*Did you mean 'size'"):
        prepare(GOLD, "label", drop=["sise"])


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("a,b,label\n1,2,x\n3,4,y\n", ["a", "b", "label"], 2),
        ("a;b;label\n1;2;x\n3;4;y\n", ["a", "b", "label"], 2),
        ("\ufeff1 2 x\n3   4 y\n5 6 x\n7 8 y\n", ["0", "1", "2"], 4),  # blanks, no header
        ('a,label\n"1\n",x\n2,y\n', ["a", "label"], 2),  # a line break in quotes
    ],
)
def test_delimiters_and_headers_are_found(text, columns, rows, tmp_path):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    frame = read(tmp_path / "x.csv", columns[-1])
    assert list(frame.columns.columns) == columns and len(frame) == rows


def test_classes_are_ordered_as_numbers_where_they_are_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("a,label\n1,10\n2,9.0\n3,b\n4,10\n")
    y, classes = encoded([read(tmp_path / "x.csv", "label")], "label")
    assert classes == ("9", "10", "b") and y.tolist() == [1, 0, 2, 1]


def test_cells_are_written_back_as_they_were(tmp_path):
    text = "a,label\n1.50,x\n007,\n"
    (tmp_path / "x.csv").write_text(text)
    frame = read(tmp_path / "x.csv", "label")
    assert frame.data(frame.columns).decode() == text
    assert frame.labels("label") == ["x", None]
