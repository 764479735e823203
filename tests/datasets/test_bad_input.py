"""Every kind of bad input ends in one message that says where, what was expected and what to do."""

import gzip
import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dataset_support import dataset, stream

from sdsl.datasets import load
from sdsl.datasets.files import find
from sdsl.errors import UserError

GOOD = "1.0,2.0,a\n3.0,4.0,b\n" * 10


def packed(name: str, text: str = GOOD) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, text)
    return buffer.getvalue()


BAD = {  # name of the file, its content, what the message says
    "truncated gzip": ("x.csv.gz", gzip.compress(GOOD.encode())[:-9], r"x\.csv\.gz.*truncated"),
    "not gzip": ("x.csv.gz", GOOD, r"x\.csv\.gz.*damaged gzip.*again"),
    "too many columns": ("x.csv", GOOD + "1,2,3,a\n", "line 21: expected 3 columns.*found 4"),
    "too few columns": ("x.csv", GOOD + "1,a\n" + GOOD, "line 21: expected 3 columns.*found 2"),
    "nan": (
        "x.csv",
        GOOD + "nan,2,a\n",
        "line 21, column 1: expected a finite.*'nan'",
    ),
    "inf": ("x.csv", GOOD + "1,-inf,a\n", "line 21, column 2: expected a finite.*'-inf'"),
    "too large": ("x.csv", GOOD + "1,1e300,a\n", "line 21, column 2: expected a finite.*'1e300'"),
    "a gap": ("x.csv", GOOD + "1,,a\n", "line 21, column 2: expected a number, found ''"),
    "no label": ("x.csv", GOOD + "1,2,\n", "line 21, column 3: expected a class label"),
    "text": ("x.csv", GOOD + "1,two,a\n", "line 21, column 2: expected a number, found 'two'"),
    "text in line 1": ("x.csv", "one,2,a\n" + GOOD, "line 1, column 1: expected a number"),
    "named column": ("x.csv", "u,v,w\n" + GOOD + "1,?,a\n", r"line 22, column 2 \(v\): expected"),
    "duplicate header": ("x.csv", "u,u,w\n" + GOOD, "line 1: duplicate header 'u'.*Rename"),
    "header only": ("x.csv", "u,v,w\n", "a header and no rows"),
    "empty": ("x.csv", "", "empty; expected rows"),
    "blank": ("x.csv", "\n\n \n", "empty; expected rows"),
    "empty gzip": ("x.csv.gz", gzip.compress(b""), "empty; expected rows"),
    "binary": ("x.csv", b"\xff\xfe\x00\x01\n" * 9, "line 1: not UTF-8 text"),
    "unknown ending": ("x.pkl", GOOD, r"unknown ending '\.pkl'; expected one of \.csv"),
    "outside name": ("x.zip", packed("../x.csv"), r"'\.\./x\.csv', which points outside"),
    "absolute name": ("x.zip", packed("/etc/x.csv"), "which points outside"),
    "no data in zip": ("x.zip", packed("readme.md"), "exactly one data file.*found 0"),
    "cut zip": ("x.zip", packed("x.csv")[:-30], "not a complete zip archive"),
    "npz with outside name": ("x.npz", packed("../X.npy"), "which points outside"),
    "npz without arrays": (
        "x.npz",
        packed("Z.npy"),
        "an NPZ with the plain arrays X and y",
    ),
    "not parquet": ("x.parquet", GOOD, "not a readable Parquet file"),
    "arff without data": ("x.arff", "@relation r\n", "@attribute, @data and rows"),
    "no features": ("x.csv", "7\n8\n" * 9, "at least one feature"),
}


@pytest.mark.parametrize("name, content, message", BAD.values(), ids=BAD.keys())
def test_bad_file(name, content, message, own, data):
    with pytest.raises(UserError, match=message) as caught:
        load(own(content, name), data)
    assert name in str(caught.value)
    assert not list(Path(data.cache).rglob("*.part"))


def test_nothing_is_cached_of_a_bad_file(own, data):
    with pytest.raises(UserError):
        load(own(GOOD + "1,two,a\n"), data)
    assert not [p for p in Path(data.cache).rglob("*") if p.is_file()]


def test_an_npz_is_never_unpickled(own, data):
    buffer = io.BytesIO()
    np.savez(buffer, X=np.array([[object()]]), y=np.array([1]))
    with pytest.raises(UserError, match="plain arrays"):
        load(own(buffer.getvalue(), "x.npz"), data)


def test_npz_values_are_checked(own, data):
    buffer = io.BytesIO()
    np.savez(buffer, X=np.array([[1.0, np.nan]] * 9), y=np.arange(9) % 2)
    with pytest.raises(UserError, match=r"x\.npz, row 1, column 2: expected a finite number"):
        load(own(buffer.getvalue(), "x.npz"), data)


def test_parquet_values_are_checked(own, data, tmp_path):
    for column, message in (([1.0, None] * 9, "9 missing"), (["p", "q"] * 9, "expected numbers")):
        pd.DataFrame({"v": column, "y": ["a", "b"] * 9}).to_parquet(tmp_path / "t.parquet")
        with pytest.raises(UserError, match=f"column v: {message}"):
            load(own((tmp_path / "t.parquet").read_bytes(), "x.parquet"), data)


@pytest.mark.parametrize("label, message", [("z", "no label column 'z'.*u, v, w"), (7, "among 3")])
def test_a_label_column_that_is_not_there(label, message, own, data):
    with pytest.raises(UserError, match=message):
        load(own("u,v,w\n" + GOOD, label=label), data)


STREAMS = {  # rows, changed settings, what the message says
    "one class": ("1,2,a\n" * 20, {}, r"one class only \('a'\).*dataset\.label"),
    "a class not in gold": (GOOD + "1,2,c\n", {}, "no row of class c"),
    "too short": ("1,2,a\n2,3,b\n" * 3, {}, r"6 rows are fewer than two segments of 4.*Lower"),
    "no rows to learn from": (
        GOOD,
        {"test_size": 4},
        r"test_size=4 must be below .*segment_size=4",
    ),
}


@pytest.mark.parametrize("text, changes, message", STREAMS.values(), ids=STREAMS.keys())
def test_a_table_that_cannot_be_a_stream(text, changes, message, own, data):
    section = own(text, **changes)
    table = load(section, data)  # as a table it is sound
    with pytest.raises(UserError, match=message) as caught:
        stream(table, section)
    assert "mine.csv" in str(caught.value)


def test_a_file_of_another_shape(data, tmp_path):
    (tmp_path / "spam.csv").write_text(GOOD)
    with pytest.raises(UserError, match=r"spam\.csv: expected 9324 rows for spam, found 20"):
        load(dataset("spam"), replace(data, root=str(tmp_path)))


def test_a_missing_file_or_folder(own, data, tmp_path):
    with pytest.raises(UserError, match=r"set dataset\.path to your CSV"):
        load(dataset("own/csv"), data)
    with pytest.raises(UserError, match=r"gone\.csv: no such file"):
        load({**own(GOOD), "path": str(tmp_path / "gone.csv")}, data)
    with pytest.raises(UserError, match=r"gone: no such folder\. Set data\.root"):
        load(dataset("spam"), replace(data, root=str(tmp_path / "gone")))


def test_a_folder_without_permission(monkeypatch, tmp_path):
    def refuse(path):  # a mode of 000 would not stop a test that runs as root
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(UserError, match=r"cannot list this folder \(Permission denied\)"):
        find(tmp_path, ["x"])


def test_a_cache_that_is_not_a_folder(own, data, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot make the cache folder.*Set data\.cache"):
        load(own(GOOD), data)


def test_a_wrong_checksum_of_the_package(data):
    settings = dataset("twonorm")
    settings["sources"][-1]["sha256"] = "0" * 64
    with pytest.raises(UserError, match=r"twonorm\.dat: wrong checksum: expected SHA-256 0000"):
        load(settings, data)
