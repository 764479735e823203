"""The archive: eight more streams, from a file, or a sentence that says how to get them."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from dataset_support import ARCHIVE, dataset, stream

from sdsl.datasets import load
from sdsl.errors import UserError

SIZES = {
    **dict.fromkeys(("1cdt", "1cht", "2cdt", "2cht"), (200, 60)),
    "1csurr": (600, 180),
    "4cr": (1444, 430),
    "4ce1cf": (1750, 525),
    "gears_2c_2d": (2000, 600),
}


@pytest.mark.parametrize("name", ARCHIVE)
def test_segments_and_names(name):
    section = dataset(f"archive/{name}")
    assert section["name"] == f"archive_{name}"
    assert (section["segment_size"], section["test_size"]) == SIZES[name]


@pytest.mark.parametrize("name", ARCHIVE)
def test_without_a_file_one_sentence_says_what_to_do(name, data, tmp_path):
    for root in (None, str(tmp_path)):
        data.root = root
        with pytest.raises(UserError, match=r"data\.root.*or set data\.download=true") as caught:
            load(dataset(f"archive/{name}"), data)
        message = str(caught.value)
        assert message.startswith(f"archive_{name}: ") and message.count(". ") == 0
        assert name in message.lower()


@pytest.mark.parametrize("folder", [".", "archive"])
def test_a_file_is_found_in_the_data_folder_or_in_its_archive(folder, data, tmp_path):
    (tmp_path / folder).mkdir(exist_ok=True)
    path = tmp_path / folder / "1cdt.txt.gz"
    path.write_bytes(gzip.compress(b"1.5,2.5,1\n3.5,4.5,2\n" * 8000))
    data.root = str(tmp_path)
    table = load(dataset("archive/1cdt"), data)
    assert (table.source, table.standing) == ("file 1cdt.txt.gz", "unknown")
    path.write_bytes(gzip.compress(b"1.5,2.5,1\n3.5,4.5,2\n" * 80))
    with pytest.raises(UserError, match="expected 16000 rows for archive_1cdt, found 160"):
        load(dataset("archive/1cdt"), data)


@pytest.mark.parametrize("name", ARCHIVE)
def test_the_real_files(name, originals, data):
    if not (Path(originals) / "archive").is_dir():
        pytest.skip(f"needs {originals}/archive")
    data.root = str(originals)
    section = dataset(f"archive/{name}")
    table = load(section, data)
    assert table.standing == "original" and table.X.shape[1] == 2
    assert np.isfinite(table.X).all()
    cut = stream(table, section, seeds=(0, 1))  # all classes are in the gold set
    assert len(table.y) // section["segment_size"] - 1 == cut.T
