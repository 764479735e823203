"""Any bytes in a data file are read or refused in one line, and leave no half-written file."""

import gzip

import numpy as np
import pandas as pd
from dataset_support import dataset, parquet, zipped
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sdsl.config.sections import DataConfig
from sdsl.core.state import load_state
from sdsl.datasets import check, load, tables
from sdsl.datasets.files import read_table
from sdsl.errors import UserError

SAME = settings.get_profile("ci")  # the same examples every time, on any machine
fuzzed = settings(SAME, max_examples=400, suppress_health_check=list(HealthCheck))
CSV = b"u,v,y\n" + b"1.0,2.0,a\n3.0,4.0,b\n" * 6
COLUMNS = {"u": [1.0, 2.0] * 6, "v": [None, "red", "blue"] * 4, "y": ["a", "b"] * 6}
SIGNS = [b"\xff", b"\0", b'"', b"'", b",", b"\n", b"\r", b"nan", b"1e999", b";", b"\t", b"2024-1-1"]
CELL = st.floats().map(str) | st.integers().map(str) | st.text(max_size=4)
ROWS = st.lists(st.lists(CELL, min_size=1, max_size=4).map(",".join), max_size=8).map("\n".join)
# Python 3.11 writes a lone \r without the quotes that it needs.
TEXT = st.text(st.characters(exclude_characters="\r", codec="utf-8"), max_size=5)


@st.composite
def damaged(draw, data: bytes) -> bytes:
    """The file with up to two places overwritten, cut out or filled in; perhaps cut off."""
    for _ in range(draw(st.integers(0, 2))):
        at, gone = draw(st.integers(0, len(data))), draw(st.integers(0, 4))
        data = data[:at] + draw(st.sampled_from(SIGNS) | st.binary(max_size=4)) + data[at + gone :]
    return data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 4)) > 3 else data


@st.composite
def files(draw) -> tuple[str, bytes]:
    ending = draw(st.sampled_from([".csv", ".csv.gz", ".csv.zip", ".parquet"]))
    whole = damaged(parquet(**COLUMNS) if ending == ".parquet" else CSV)
    data = draw(st.one_of(st.binary(max_size=60), ROWS.map(str.encode), whole, whole, whole))
    if ending == ".csv.gz":
        data = draw(damaged(gzip.compress(data, mtime=0)))
    if ending == ".csv.zip":
        name = draw(st.sampled_from(["x.csv", "x.TXT", "../x.csv", "x.exe"]))
        data = draw(damaged(zipped(**{name: data})))
    return f"x{ending}", data


@fuzzed
@given(files(), st.sampled_from([-1, "y", 0, 99]), st.booleans(), st.booleans())
@example(("x.csv", b"1" * 5000 + b",a\n2,b\n"), -1, True, True)
@example(("x.csv", b'"' + b"x" * 200_000), -1, False, False)
@example(("x.csv", b"1,2,a\r3,4,b\r"), -1, False, False)
def test_a_file(tmp_path, file, label, header, prepare):
    path, cache = tmp_path / file[0], tmp_path / "cache"
    path.write_bytes(file[1])
    how = {"label": label, "header": header or None, "prepare": prepare, "segment_size": 4}
    try:
        section = dataset("own/csv", path=str(path), **how)
        table = load(section, DataConfig(root=None, download=False, cache=str(cache)))
        assert table.X.dtype == np.float32 and np.isfinite(table.X).all()
        assert len(table.X) == len(table.y) > 0 and set(table.y) == {*range(len(table.classes))}
        assert all(name and len(name.splitlines()) == 1 for name in table.classes)
    except UserError as error:
        assert "\n" not in str(error)
    for entry in cache.glob("parsed/*"):
        assert load_state(entry)["digest"]  # whole
        entry.unlink()


@fuzzed
@given(st.lists(st.tuples(st.floats(), TEXT), min_size=1, max_size=9))
def test_numbers_and_text_are_read_and_written_as_they_are(tmp_path, rows):
    table = pd.DataFrame(rows, columns=["u", "v"]).assign(y="a")
    for path in [tmp_path / f"x{ending}" for ending in (".csv", ".csv.gz", ".parquet")]:
        table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
        for _ in range(2):  # the second time as it was written back
            frame = tables.framed(read_table(path), "y")
            u = tables.numbers(tables.arrow(frame.columns["u"]))
            assert np.array_equal(u, table["u"], equal_nan=True)
            assert frame.columns["v"].tolist() == table["v"].tolist()
            path.write_bytes(b"".join(tables.written(path, [frame])))


SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUE = SCALAR | st.lists(SCALAR, max_size=3) | st.dictionaries(st.text(max_size=5), SCALAR)
KEYS = ["name", "path", "label", "order", "sources", "expect", "segment_size", "kind", "x"]


@fuzzed
@given(st.sampled_from(KEYS), VALUE | st.lists(VALUE, max_size=3), st.booleans())
def test_a_dataset_section(key, value, inside):
    section = dataset("own/csv", path="x.csv")
    (section["sources"][0] if inside else section)[key] = value
    try:
        check(section)
    except UserError as error:
        assert "dataset" in str(error) and "\n" not in str(error)
