"""A column that says which segment a row belongs to, in a file of one's own."""

import pytest
from dataset_support import dataset

from sdsl.datasets import load
from sdsl.errors import UserError

ROWS = "day,x,y\nmon,1,a\nmon,2,b\ntue,3,a\ntue,4,b\ntue,5,a\nmon,6,b\nmon,7,a\n"


@pytest.mark.parametrize("column", ["day", 0])
def test_stretches_of_equal_values_are_segments_and_no_feature(column, own):
    table = own(ROWS, segment=column)
    assert table.ends == (2, 5, 7)  # Monday comes again
    assert table.X.ravel().tolist() == [1, 2, 3, 4, 5, 6, 7]
    without = own(ROWS, drop=["day"])
    assert without.ends is None and without.digest() != table.digest()


def test_gold_that_prepares_columns_is_the_first_segment(own):
    """The gap gets the median of its 2 rows, not of the 4 that segment_size says."""
    table = own(ROWS.replace("tue,5", "tue,?"), segment="day", prepare=True)
    assert table.X[:, 0].tolist() == [1, 2, 3, 4, 1.5, 6, 7]


def test_a_segment_goes_on_in_the_next_file(data, tmp_path):
    (tmp_path / "1.csv").write_text(ROWS)
    (tmp_path / "2.csv").write_text("day,x,y\nmon,8,b\nwed,9,a\n")
    (tmp_path / "3.csv").write_text("day,x,y\nwed,10,b\n")
    table = load(dataset("own/csv", path=f"{tmp_path}/*.csv", segment="day"), data)
    assert table.ends == (2, 5, 8, 10)


@pytest.mark.parametrize(("rows", "segment", "message"), [
    (ROWS, "week", "no segment column 'week'. Set dataset.segment to"),
    (ROWS.replace("tue,4", ",4"), "day", "data row 4 has no value in column day"),
])  # fmt: skip
def test_refusals(rows, segment, message, own):
    with pytest.raises(UserError, match=message):
        own(rows, segment=segment)
