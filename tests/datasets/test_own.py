"""Bring your own stream: CSV, Parquet, ARFF and NPZ, with or without header, packed or plain."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from sdsl.datasets import load

FRAME = pd.DataFrame(
    {"u": np.arange(12) / 4, "kind": ["cat", "ant", "bee"] * 4, "v": np.arange(12) * -1.5}
)
EXPECTED = FRAME[["u", "v"]].to_numpy(np.float32)


def content(name: str) -> bytes:
    if name.endswith(".parquet"):
        buffer = io.BytesIO()
        FRAME.to_parquet(buffer)
        return buffer.getvalue()
    text = FRAME.to_csv(index=False)
    if ".arff" in name:
        head = "% made up\n@relation r\n@attribute u real\n@ATTRIBUTE 'kind' {ant,bee,cat}\n"
        text = head + "@attribute v numeric\n@data\n" + text.split("\n", 1)[1]
    return gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()


@pytest.mark.parametrize("name", ["m.csv", "m.csv.gz", "m.parquet", "m.arff", "m.arff.gz"])
def test_a_label_by_name(name, own, data):
    table = load(own(content(name), name, label="kind"), data)
    assert np.array_equal(table.X, EXPECTED)
    assert table.classes == ("ant", "bee", "cat")
    assert table.y.tolist() == [2, 0, 1] * 4
    assert (table.standing, table.source) == ("own", f"file {name}")


@pytest.mark.parametrize("delimiter", [";", "\t", " ", ", "])
def test_no_header_and_other_delimiters(delimiter, own, data):
    text = FRAME.to_csv(index=False, header=False).replace(",", delimiter)
    table = load(own(text, "m.txt", label=1), data)
    assert np.array_equal(table.X, EXPECTED) and table.y.tolist() == [2, 0, 1] * 4


def test_windows_line_ends_a_byte_order_mark_and_blank_lines(own, data):
    text = "\ufeff" + FRAME.to_csv(index=False, lineterminator="\r\n") + "\r\n\r\n"
    assert np.array_equal(load(own(text, label="kind"), data).X, EXPECTED)


def test_numbers_as_labels_sort_by_value(own, data):
    rows = "".join(f"{i},{label}\n" for i, label in enumerate([10, 9, 2, 10.0] * 3))
    table = load(own(rows), data)
    assert table.classes == ("2", "9", "10") and table.y.tolist() == [2, 1, 0, 2] * 3


def test_a_header_of_numbers_may_be_declared(own, data):
    text = "0,3,9\n" + "5,6,1\n7,8,2\n" * 6
    assert load(own(text, header=True), data).X[0].tolist() == [5, 6]
    assert load(own(text), data).X[0].tolist() == [0, 3]  # nothing tells it from a row


def test_npz(own, data):
    buffer = io.BytesIO()
    np.savez(buffer, X=EXPECTED, y=FRAME["kind"].to_numpy(str))
    assert np.array_equal(load(own(buffer.getvalue(), "m.npz"), data).X, EXPECTED)


def test_another_label_column_is_not_taken_from_the_cache(own, data):
    text = "u,v,w\n" + "1,2,1\n2,1,1\n" * 6
    first = load(own(text, label="u"), data)
    second = load(own(text, label="v"), data)
    assert first.y.tolist() == [0, 1] * 6 and second.y.tolist() == [1, 0] * 6
