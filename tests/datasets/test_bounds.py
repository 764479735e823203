"""Reading is bounded: in memory, in time and to regular files."""

import gzip
import io
import os
import subprocess
import sys
import textwrap
import time
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataset_support import REPO

from sdsl.datasets import limits, load
from sdsl.errors import UserError

ROWS = "1.0,2.0,a\n3.0,4.0,b\n"
SECONDS = 20  # on a busy machine; what is quadratic took minutes


def zipped(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def npz(rows: int) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.zeros((rows, 8)), y=np.arange(rows) % 2)
    return buffer.getvalue()


def parquet(rows: int) -> bytes:
    """A few kilobytes, whatever the number of rows: all values are the same."""
    buffer = io.BytesIO()
    column = pa.array(np.zeros(rows))
    table = pa.table({**{f"v{i}": column for i in range(8)}, "y": pa.array(["a"] * rows)})
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


BOMBS = {  # each holds a megabyte or more, and is far smaller itself
    "plain": ("x.csv", (ROWS * 60_000).encode()),
    "gzip": ("x.csv.gz", gzip.compress((ROWS * 60_000).encode())),
    "zip": ("x.zip", zipped("x.csv", (ROWS * 60_000).encode())),
    "npz": ("x.npz", npz(20_000)),
    "npz in gzip": ("x.npz.gz", gzip.compress(npz(20_000))),
    "parquet": ("x.parquet", parquet(60_000)),
    "parquet in gzip": ("x.parquet.gz", gzip.compress(parquet(60_000))),
    "arff": ("x.arff", b"@attribute u real\n@attribute y {a}\n@data\n" + b"1,a\n" * 300_000),
}


@pytest.mark.parametrize("name, content", BOMBS.values(), ids=BOMBS.keys())
def test_more_than_the_limit_is_refused(name, content, own, data, monkeypatch):
    monkeypatch.setattr(limits, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(limits, "CHUNK", 10_000)
    with pytest.raises(UserError, match=rf"^\S*{name}: holds more than 1 MB of data once unpacked"):
        load(own(content, name), data)


def test_short_numbers_are_bounded_too(own, data, monkeypatch):
    monkeypatch.setattr(limits, "MOST_BYTES", 1_000_000)
    text = "1,1,1,1,1,1,1,1,a\n" * 35_000  # 630,000 bytes of text, 1.1 million as float32
    with pytest.raises(UserError, match="holds more than 1 MB"):
        load(own(text), data)


BOMB = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
from types import SimpleNamespace
from sdsl.datasets import load
from sdsl.errors import UserError
section = dict(name="own", path=sys.argv[1], label=-1, header=None, segment_size=4, test_size=2,
               gold_per_class=1, calibrated_segments=None, order="file", sources=[dict(kind="own")])
try:
    load(section, SimpleNamespace(root=None, download=False, cache=sys.argv[2]))
except UserError as error:
    print(error)
"""


def refusal(path, tmp_path, memory: int = 4 * 2**30) -> str:
    """What reading the file says in a process with little memory."""
    code = textwrap.dedent(BOMB).format(memory=memory)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=REPO,
    )
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


def test_twenty_gigabytes_in_a_small_gzip_end_in_a_sentence(tmp_path):
    part = gzip.compress(b"1,2,3,4,5,6,7,8,9,10,11,12,13,a\n" * 2**19)  # 16 MB
    with open(tmp_path / "bomb.csv.gz", "wb") as file:
        for _ in range(1280):
            file.write(part)
    assert "holds more than 1,024 MB" in refusal(tmp_path / "bomb.csv.gz", tmp_path)


def test_a_long_label_stays_one_entry_of_a_dictionary(tmp_path):
    rows = 200_000
    label = pa.DictionaryArray.from_arrays(np.arange(rows) % 2, ["a" * 100_000, "b" * 100_000])
    table = pa.table({"u": np.zeros(rows), "y": label})
    pq.write_table(table, tmp_path / "long.parquet", store_schema=False)  # 20 GB if written out
    assert refusal(tmp_path / "long.parquet", tmp_path) == ""


def test_only_regular_files_are_read(own, data, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name, kind in (("pipe", "a pipe"), ("folder", "a folder"), ("zero", "a pipe or a device")):
        section = {**own(ROWS), "path": str(tmp_path / f"{name}.csv")}
        with pytest.raises(UserError, match=rf"{name}\.csv: cannot read {kind}.*regular file"):
            load(section, data)


def test_a_pipe_in_the_data_folder_does_not_hang(data, tmp_path):
    from dataset_support import dataset

    os.mkfifo(tmp_path / "UG_2C_2D.csv")
    data.root = str(tmp_path)
    with pytest.raises(UserError, match="cannot read a pipe"):
        load(dataset("ug_2c_2d"), data)
    os.mkfifo(tmp_path / "spam.zip")
    with pytest.raises(UserError, match="cannot read a pipe"):
        load(dataset("spam"), data)


def test_sixty_thousand_labels(own, data):
    text = "".join(f"{i}.5,name{i}\n" for i in range(60_000)) * 2
    begin = time.perf_counter()
    assert len(load(own(text), data).classes) == 60_000
    assert len(load(own(text, order="class_pc1"), data).classes) == 60_000
    assert time.perf_counter() - begin < SECONDS


@pytest.mark.parametrize("width", [60_000, 1_000_000])
def test_a_very_wide_file(width, own, data):
    head = ",".join(f"v{i}" for i in range(width)) + ",label\n"
    row = ",".join(["1.5"] * width)
    text = head + "".join(f"{row},{label}\n" for label in "abab")
    begin = time.perf_counter()
    table = load(own(text), data)
    assert table.X.shape == (4, width) and table.classes == ("a", "b")
    assert (table.X == 1.5).all()
    assert time.perf_counter() - begin < SECONDS


def test_a_wide_file_is_read_like_a_narrow_one(own, data, monkeypatch):
    from sdsl.datasets import text_rows

    rng = np.random.default_rng(0)
    text = "".join(f"{a},{b},{'ab'[i % 2]}\n" for i, (a, b) in enumerate(rng.normal(size=(50, 2))))
    fast = load(own(text), data)
    monkeypatch.setattr(text_rows, "WIDE", 2)
    slow = load(own(text + "\n"), data)
    assert np.array_equal(fast.X, slow.X) and np.array_equal(fast.y, slow.y)
    for bad, message in (
        ("1,1_0,a", "column 2: expected a number"),
        ("1,nan,a", "finite"),
        ("1,a", "3"),
    ):
        with pytest.raises(UserError, match=f"line 51.*{message}"):
            load(own(text + bad + "\n"), data)


def test_a_run_of_blanks_takes_linear_time(own, data):
    begin = time.perf_counter()
    with pytest.raises(UserError):
        load(own("1 2 a\n" + "3" + " " * 2_000_000 + "x\n", "x.txt"), data)
    assert time.perf_counter() - begin < SECONDS


def test_a_parquet_file_of_labels_only_is_bounded(own, data, monkeypatch):
    monkeypatch.setattr(limits, "MOST_BYTES", 1_000_000)
    buffer = io.BytesIO()
    pq.write_table(pa.table({"y": ["a"] * 300_000}), buffer)
    with pytest.raises(UserError, match="holds more than 1 MB"):
        load(own(buffer.getvalue(), "x.parquet"), data)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_very_wide_file_is_not_prepared_column_by_column(ending, own, data):
    names = [f"v{i}" for i in range(200_000)]
    if ending == "csv":
        content = "\n".join(
            [",".join([*names, "label"]), *[",".join(["1.5"] * 200_000 + ["a"])] * 4]
        )
    else:
        buffer = io.BytesIO()
        pq.write_table(pa.table([pa.array([1.5])] * 20_000, names[:20_000]), buffer)
        content = buffer.getvalue()
    begin = time.perf_counter()
    with pytest.raises(UserError, match=r"columns; at most 10,000 are prepared.*prepare=false"):
        load(own(content, f"wide.{ending}", prepare=True), data)
    assert time.perf_counter() - begin < SECONDS
