"""Any bytes in a data file are read or refused in one message, and leave no half-written file."""

import gzip
import io
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sdsl.datasets.parse import PARSERS, Reading, parse

from sdsl.config.schema import DataConfig
from sdsl.datasets import check, labels, load, spam_corpus
from sdsl.datasets.files import Content
from sdsl.errors import UserError

CSV = b"u,v,y\n" + b"1.0,2.0,a\n3.0,4.0,b\n" * 6
ARFF = b"@relation r\n@attribute u real\n@attribute v real\n@attribute y {a,b}\n@data\n" + CSV[6:]
BYTES = st.sampled_from(
    [b"", b"\0", b"\xff", b'"', b"'", b",", b"\n", b"\r", b"nan", b"1e999", b";", b"\t", b"@data\n"]
)
NUMBER = st.floats().map(str) | st.integers().map(str) | st.text(max_size=4)
ROWS = st.lists(st.lists(NUMBER, min_size=1, max_size=4).map(",".join), max_size=8).map("\n".join)
ANY = st.binary(max_size=60) | ROWS.map(lambda text: text.encode(errors="replace"))


@cache
def good(suffix: str) -> bytes:
    """A small valid file with that ending."""
    buffer = io.BytesIO()
    frame = pd.DataFrame({"u": [1.0, 2.0] * 6, "v": [3, 4] * 6, "y": ["a", "b"] * 6})
    if suffix == ".npz":
        np.savez(buffer, X=frame[["u", "v"]].to_numpy(), y=frame["y"].to_numpy(str))
    elif suffix == ".parquet":
        frame.to_parquet(buffer)
    else:
        return ARFF if suffix == ".arff" else CSV
    return buffer.getvalue()


@st.composite
def damaged(draw, data: bytes) -> bytes:
    """The file with up to three places overwritten, cut out or filled in."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        gone = draw(st.integers(0, 4))
        data = data[:at] + draw(BYTES | st.binary(max_size=4)) + data[at + gone :]
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


@st.composite
def files(draw) -> tuple[str, bytes]:
    suffix = draw(st.sampled_from(sorted(PARSERS)))
    return suffix, draw(ANY | damaged(good(suffix)))


@settings(max_examples=1000)
@given(
    files(),
    st.sampled_from([-1, 0, "y", "-1", 99, "", "9" * 5000]),
    st.sampled_from([None, True, False]),
)
@example((".csv", b"1" * 5000 + b",a\n2,b\n"), -1, None)
@example((".csv", b'"' + b"x" * 200_000), -1, None)
@example((".csv", b"1,2,a\r3,4,b\r"), -1, None)
@example((".csv", b"1,2,\xff\n3,4,b\n"), -1, None)
@example((".csv", b"1,2,a\n3,\xff,b\n"), -1, None)
def test_a_parser(file, label, header):
    suffix, data = file
    try:
        rows = parse(Content(Path(f"x{suffix}"), data, suffix), Reading(label, header))
    except UserError as error:
        assert str(error).startswith("x.") and "\n" not in str(error)
        return
    assert rows.X.dtype == np.float32 and np.isfinite(rows.X).all()
    assert len(rows.X) == len(rows.y) > 0
    assert set(rows.y) == set(range(len(rows.classes)))
    assert not any(map(labels.problem, rows.classes))


def packed(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


@st.composite
def packages(draw) -> tuple[str, bytes]:
    suffix = draw(st.sampled_from(sorted(PARSERS)))
    inside = draw(ANY | st.just(good(suffix)))
    if draw(st.booleans()):
        return f"x{suffix}.gz", draw(damaged(gzip.compress(inside, mtime=0)))
    name = draw(st.sampled_from([f"x{suffix}", "../x.csv", "a/b.csv", "x.exe"]))
    return "x.zip", draw(damaged(packed(name, inside)))


@settings(max_examples=300)
@given(packages())
def test_a_package_through_the_whole_reader(tmp_path_factory, file):
    name, data = file
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / name).write_bytes(data)
    settings = {
        **{"name": "own", "path": str(folder / name), "label": -1, "header": None},
        **{"segment_size": 4, "test_size": 2, "gold_per_class": 1, "calibrated_segments": None},
        **{"order": "file", "sources": [{"kind": "own"}]},
    }
    kept = {folder / name}
    try:
        load(settings, DataConfig(root=None, download=False, cache=str(folder / "cache")))
    except UserError as error:
        assert name in str(error) or "own" in str(error)
    for path in folder.rglob("*"):
        if path.is_file() and path not in kept:
            assert path.suffix == ".npz" and path.parent.name == "parsed", path
            np.load(path, allow_pickle=False)["X"]


def corpus_zip(words: bytes, labels: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("spam/spam.data", words)
        archive.writestr("spam/spam.labels", labels)
    return buffer.getvalue()


WORDS, LABELS = b"1 0 1\n0 1 1\n1 1 0\n", b"1\n0\n1\n"
CORPORA = (
    st.binary(max_size=60)
    | damaged(corpus_zip(WORDS, LABELS))
    | damaged(WORDS).map(lambda words: corpus_zip(words, LABELS))
    | damaged(LABELS).map(lambda names: corpus_zip(WORDS, names))
)


@settings(max_examples=300)
@given(CORPORA)
@example(corpus_zip(WORDS, LABELS))
def test_the_spam_corpus(corpus, data):
    path = corpus / "x.zip"
    path.write_bytes(data)
    try:
        rows = spam_corpus.select(path, 2).decode().splitlines()
    except UserError as error:
        assert path.name in str(error)
        return
    assert all(len(row.split(",")) == 3 for row in rows)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("corpus")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)
KEYS = st.sampled_from(
    ["name", "path", "label", "header", "order", "sources", "expect", "segment_size", "kind", "x"]
)
OWN = {
    **{"name": "own", "path": "x.csv", "label": -1, "header": None, "order": "file"},
    **{"segment_size": 4, "test_size": 2, "gold_per_class": 1, "calibrated_segments": None},
    **{"sources": [{"kind": "own"}]},
}


@settings(max_examples=300)
@given(KEYS, VALUES, st.booleans())
def test_a_dataset_section(key, value, inside):
    section = OWN | ({"sources": [{"kind": "own", key: value}]} if inside else {key: value})
    try:
        check(section)
    except UserError as error:
        assert "dataset" in str(error)
