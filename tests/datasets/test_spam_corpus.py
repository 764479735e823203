"""Spam from its public corpus: the best words by chi-square, and the known stream to the byte."""

import io
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from dataset_support import REPO, dataset
from sklearn.feature_selection import chi2

from sdsl.datasets import load
from sdsl.datasets.spam_corpus import chi_square, select
from sdsl.errors import UserError

STREAM = "54fc4ae6aab9fd036a5f3a27c3c3a5214909902ea94b2a46ea8b68ce5a1bc87f"
# Words: 0 = always there, 1 = half of the spam, 2 = all the spam, 3 = never, 4 = one ham.
WORDS = "1 1 1 0 0\n1 0 1 0 0\n1 0 0 0 1\n1 0 0 0 0\n"
LABELS = "1\n1\n0\n0\n"


def packed(words: str = WORDS, labels: str = LABELS, folder: str = "spam/") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{folder}spam.data", words)
        archive.writestr(f"{folder}spam.labels", labels)
    return buffer.getvalue()


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "spam.zip"

    def write(*parts: str):
        path.write_bytes(packed(*parts))
        return path

    return write


@pytest.mark.parametrize("line_end", ["\n", "\r\n", " \n"])
def test_best_words_first_then_the_label(line_end, corpus):
    path = corpus(WORDS.replace("\n", line_end), LABELS)
    # Word 2 separates the classes; 1 and 4 tie behind it, and the later column comes first.
    assert select(path, 2) == b"1,0,1\n1,0,1\n0,1,0\n0,0,0\n"
    assert select(path, 3) == b"1,0,1,1\n1,0,0,1\n0,1,0,0\n0,0,0,0\n"


def test_chi_square_by_hand():
    # 2 x 2 tables [[1, 1], [0, 2]] give 4 (1*2 - 0*1)^2 / (1 * 3 * 2 * 2) = 4/3.
    found = chi_square(np.array([4, 1, 2, 0, 1]), np.array([2, 1, 2, 0, 0]), 4, 2)
    np.testing.assert_allclose(found, [0, 4 / 3, 4, 0, 4 / 3])


def test_chi_square_against_both_halves_of_the_table():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (200, 6)), rng.integers(0, 2, 200)
    ours = chi_square(X.sum(axis=0), X[y == 1].sum(axis=0), 200, int(y.sum()))
    np.testing.assert_allclose(ours, chi2(X, y)[0] + chi2(1 - X, y)[0])


def test_a_corpus_in_the_data_folder_becomes_the_stream(data, tmp_path):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 1000)
    X = (rng.random((1000, 5)) < 0.2 + 0.5 * np.outer(y, [1, 0, 0.5, 0, 1])).astype(int)
    words = "".join(" ".join(map(str, x)) + "\n" for x in X)
    (tmp_path / "spam.zip").write_bytes(packed(words, "".join(f"{label}\n" for label in y)))
    settings = dataset("spam", order="chronological")
    settings["sources"][1] |= {"words": 3, "expect": {"features": 3}}
    table = load(settings, replace(data, root=str(tmp_path)))
    assert np.array_equal(table.y, y) and table.classes == ("0", "1")
    assert sorted(map(tuple, table.X.T.tolist())) == sorted(map(tuple, X[:, [0, 2, 4]].T.tolist()))
    assert table.standing == "unknown"  # not the SHA-256 of the stream we know
    assert table.source == "file spam.zip, 3 best words"


BAD = {
    "a short line": (WORDS + "1 0 1\n", LABELS + "1\n", "line 5: expected 5 lines.* 5 digits"),
    "another digit": (WORDS.replace("1 1 1", "1 2 1"), LABELS, "line 1: expected .*0 or 1"),
    "another separator": (WORDS.replace("1 1", "1,1"), LABELS, "line 1: expected .*blank"),
    "a blank line": ("\n" + WORDS, LABELS, "line 1: expected"),
    "too many lines": (WORDS * 2, LABELS, "line 5: expected 4 lines"),
    "too few lines": (WORDS, LABELS * 2, "expected 8 lines, found 4"),
    "another label": (WORDS, LABELS.replace("0", "2"), r"spam\.labels: expected lines of 0"),
    "no label": (WORDS, "\n", r"spam\.labels: expected lines of 0"),
}


@pytest.mark.parametrize("words, labels, message", BAD.values(), ids=BAD.keys())
def test_a_bad_corpus(words, labels, message, corpus):
    with pytest.raises(UserError, match=rf"spam\.zip.*{message}"):
        select(corpus(words, labels), 2)


def test_too_few_words(corpus):
    with pytest.raises(UserError, match="expected at least 6 words, found 5"):
        select(corpus(), 6)


def test_a_damaged_or_foreign_zip(tmp_path):
    path = tmp_path / "spam.zip"
    for content, message in (
        (packed()[:-12], "not a complete zip"),
        (packed(folder="../"), "points outside"),
        (packed().replace(b"spam.labels", b"spam.levers"), r"a zip with one spam\.labels, found 0"),
    ):
        path.write_bytes(content)
        with pytest.raises(UserError, match=message):
            select(path, 2)


CODE = """
import sys
from pathlib import Path
from types import SimpleNamespace
from omegaconf import OmegaConf
from sdsl.datasets import load
section = OmegaConf.load("conf/dataset/spam.yaml")
table = load(section, SimpleNamespace(root=sys.argv[1], download=False, cache=sys.argv[2]))
print(table.sha256, table.standing, table.source, sep="|")
print(*[line.split()[1] for line in Path("/proc/self/status").open() if "VmHWM" in line])
"""


def test_the_public_corpus_gives_the_known_stream_to_the_byte(originals, tmp_path):
    zipped = originals / "spam_corpus_driftDatasets.zip"
    if not zipped.is_file():
        pytest.skip(f"needs {zipped}")
    (tmp_path / zipped.name).symlink_to(zipped)
    line = [sys.executable, "-c", CODE, str(tmp_path), str(tmp_path / "cache")]
    done = subprocess.run(line, cwd=REPO, capture_output=True, text=True, check=True)
    found, kilobytes = done.stdout.splitlines()
    assert found == f"{STREAM}|original|file {zipped.name}, 499 best words"
    assert int(kilobytes) < 400_000  # the text has 744 MB
