"""What was once read silently wrong: headers of numbers, stray quotes, labels that are missing."""

import io

import numpy as np
import pandas as pd
import pytest

from sdsl.datasets import load
from sdsl.errors import UserError

NUMBERS = "5,6,7,1\n8,9,7,2\n" * 10
NAMES = "5,6,7,cat\n8,9,7,dog\n" * 10


@pytest.mark.parametrize("rows", [NUMBERS, NAMES], ids=["number labels", "name labels"])
@pytest.mark.parametrize("head", ["0,1,2,label", "1,2,3,label", '"0","1","2","label"'])
def test_a_header_that_counts_the_columns(head, rows, own, data):
    table = load(own(f"{head}\n{rows}"), data)
    assert len(table.y) == 20 and len(table.classes) == 2
    assert table.X[0].tolist() == [5, 6, 7]


def test_a_header_of_other_numbers_and_a_name_above_labels_that_are_numbers(own, data):
    table = load(own("400.5,401,401.5,class\n" + NUMBERS), data)
    assert table.classes == ("1", "2") and len(table.y) == 20


def test_a_header_with_the_label_first_and_one_of_numbers_only(own, data):
    assert load(own("label,0,1\n" + "cat,5,6\ndog,7,8\n" * 9, label=0), data).classes == (
        "cat",
        "dog",
    )
    assert load(own("0,1,2,3\n" + NAMES), data).classes == ("cat", "dog")


def test_a_header_that_holds_the_name_of_the_label(own, data):
    table = load(own("400,kind,402\n" + "5,a,6\n7,b,8\n" * 9, label="kind"), data)
    assert table.classes == ("a", "b") and table.X[0].tolist() == [5, 6]


@pytest.mark.parametrize(
    "text",
    ["400,401,402,class\n" + NAMES, "0,1,2,3\n" + NUMBERS, "7,8,9,cow\n" + NAMES],
    ids=["numbers and a name", "counting only", "a class of one row"],
)
def test_where_a_header_cannot_be_told_from_a_row_the_user_is_asked(text, own, data):
    with pytest.raises(UserError, match=r"line 1: .*occurs on no other line.*dataset\.header"):
        load(own(text), data)
    assert len(load(own(text, header=True), data).y) == 20
    assert len(load(own(text, header=False), data).y) == 21


@pytest.mark.parametrize("first", ["7,7,9,cow", "7,8,8,cow"])
def test_a_line_with_one_field_twice_is_a_row(first, own, data):
    assert len(load(own(f"{first}\n{NAMES}"), data).y) == 21


@pytest.mark.parametrize("first", ["0,1,2,1", "0,1,2,cat", "1,2,3,dog"])
def test_a_row_that_counts_is_a_row_if_its_class_occurs_again(first, own, data):
    assert len(load(own(f"{first}\n{NUMBERS if first[-1] == '1' else NAMES}"), data).y) == 21


def test_a_bad_first_row_is_no_header(own, data):
    with pytest.raises(UserError, match=r"line 1, column 2: expected a number.*dataset\.header=tr"):
        load(own("0,one,2,label\n" + NUMBERS), data)


@pytest.mark.parametrize("value", ["no", "yes", "false", "", "0", "none"])
def test_a_header_given_as_text_is_refused(value, own, data):
    with pytest.raises(UserError, match=r"dataset\.header='.*': expected true or false"):
        load(own(NUMBERS, header=value), data)


def lines(count: int = 200) -> list[str]:
    return [f"{i}.5,{i % 7},{'ab'[i % 2]}" for i in range(count)]


def test_stray_quotes_around_many_rows(own, data):
    rows = lines()
    rows[20] = '20.5,6,"a'
    rows[165] = '165.5,4,b"'
    with pytest.raises(UserError, match=r'line 21, column 3: .*line break inside; a quote \("\)'):
        load(own("\n".join(rows) + "\n"), data)


@pytest.mark.parametrize("at", [0, 20, 199])
@pytest.mark.parametrize("column", [0, 2])
def test_one_stray_quote(at, column, own, data):
    rows = lines()
    fields = rows[at].split(",")
    fields[column] = '"' + fields[column]
    rows[at] = ",".join(fields)
    with pytest.raises(UserError, match=r"mine\.csv") as caught:
        load(own("\n".join(rows) + "\n"), data)
    assert len(str(caught.value)) < 500  # the swallowed rows are not all quoted


MISSING = ["nan", "NaN", "NA", "na", "N/A", "?", "  ", "null", "<NA>", "#N/A", '""', '" "']


@pytest.mark.parametrize("label", MISSING)
def test_a_missing_label_in_text(label, own, data):
    text = "1,2,a\n3,4,b\n" * 10 + f"5,6,{label}\n" + "1,2,a\n"
    with pytest.raises(UserError, match=r"line 21, column 3: expected a class label, found"):
        load(own(text), data)


@pytest.mark.parametrize("label", ['"a\nb"', '"a\n"', '"a\rb"', '"a\u2028b"'])
def test_a_line_break_in_a_label(label, own, data):
    text = "1,2,a\n3,4,b\n" * 10 + f"5,6,{label}\n" + "1,2,a\n"
    with pytest.raises(UserError, match=r"mine\.csv.*(line break|cannot be read)"):
        load(own(text), data)


def npz(y: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, X=np.ones((len(y), 2)), y=y)
    return buffer.getvalue()


def parquet(y: list) -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame({"u": np.arange(len(y)), "y": y}).to_parquet(buffer)
    return buffer.getvalue()


ARRAYS = {
    "npz nan": ("x.npz", npz(np.array([0, 1, np.nan] * 6)), "row 3: .*'nan'"),
    "npz name": ("x.npz", npz(np.array(["a", "b", "NA"] * 6)), "row 3: .*'NA'"),
    "npz blank": ("x.npz", npz(np.array(["a", "b", " "] * 6)), "row 3: .*found nothing"),
    "npz line": ("x.npz", npz(np.array(["a", "b", "c\nd"] * 6)), "row 3: .*line break"),
    "npz date": ("x.npz", npz(np.array(["NaT"] * 9, "datetime64[s]")), r"found X .* y datetime64"),
    "parquet nan": ("x.parquet", parquet([0.0, 1.0, np.nan] * 6), "missing|row 3: .*'nan'"),
    "parquet name": ("x.parquet", parquet(["a", "b", "?"] * 6), r"row 3: .*'\?'"),
    "parquet blank": ("x.parquet", parquet(["a", "b", ""] * 6), "row 3: .*found nothing"),
    "parquet line": ("x.parquet", parquet(["a", "b", "c\n"] * 6), "row 3: .*line break"),
    "parquet list": ("x.parquet", parquet([["a"], ["b"]] * 6), "column y: expected labels, found"),
}


@pytest.mark.parametrize("name, content, message", ARRAYS.values(), ids=ARRAYS.keys())
def test_a_label_that_is_none_in_an_array(name, content, message, own, data):
    with pytest.raises(UserError, match=message):
        load(own(content, name), data)


def test_a_nan_that_arrow_does_not_count_as_missing(own, data):
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    column = pa.array([0.0, 1.0, float("nan")] * 6, from_pandas=False)
    pq.write_table(pa.table({"u": pa.array(range(18)), "y": column}), buffer)
    with pytest.raises(UserError, match=r"row 3: expected a class label, found 'nan'"):
        load(own(buffer.getvalue(), "x.parquet"), data)


@pytest.mark.parametrize("dtype", [int, float, bool, str, "category"])
def test_every_kind_of_label_in_parquet(dtype, own, data):
    labels = pd.Series([0, 1, 1, 0] * 5).astype(str if dtype == "category" else dtype).astype(dtype)
    table = load(own(parquet(labels), "x.parquet"), data)
    assert table.y.tolist() == [0, 1, 1, 0] * 5 and len(table.classes) == 2
