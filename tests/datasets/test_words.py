"""Spam from the word corpus: the best words by chi-square, on a small made-up corpus."""

import gzip

import numpy as np
import pytest
from dataset_support import dataset
from sklearn.feature_selection import chi2

from sdsl.datasets import load
from sdsl.datasets.spam_corpus import chi_square, select
from sdsl.errors import UserError

# Words: 0 = always there, 1 = half of the spam, 2 = all the spam, 3 = never, 4 = one ham.
ROWS = [(0, 1, 2, "spam"), (0, 2, "spam"), (0, 4, "legitimate"), (0, "legitimate")]
HEAD = "@relation corpus\n" + "".join(f"@attribute w{i} {{0,1}}\n" for i in range(5))
HEAD += "@attribute class {spam, legitimate}\n@data\n"


def dense(row: tuple) -> str:
    return ",".join("1" if i in row[:-1] else "0" for i in range(5)) + f",{row[-1]}\n"


def sparse(row: tuple) -> str:
    # The first value of the class is ARFF's zero, so a sparse row leaves it out.
    pairs = [f"{i} 1" for i in row[:-1]] + (["5 legitimate"] if row[-1] != "spam" else [])
    return "{" + ", ".join(pairs) + "}\n"


@pytest.mark.parametrize("write", [dense, sparse])
@pytest.mark.parametrize("packed", [False, True])
def test_best_words_first_then_the_label(write, packed, tmp_path):
    text = (HEAD + "".join(map(write, ROWS))).encode()
    path = tmp_path / ("corpus.arff.gz" if packed else "corpus.arff")
    path.write_bytes(gzip.compress(text) if packed else text)
    # Word 2 separates the classes; 1 and 4 tie behind it and keep the corpus's order.
    assert select(path, 2) == b"1,1,1\n1,0,1\n0,0,0\n0,0,0\n"


def test_chi_square_by_hand():
    rows = [np.array(r[:-1]) for r in ROWS]
    found = chi_square(rows, np.array([1, 1, 0, 0]), 5)
    # 2 x 2 tables [[1, 1], [0, 2]] give 4 (1*2 - 0*1)^2 / (1 * 3 * 2 * 2) = 4/3.
    np.testing.assert_allclose(found, [0, 4 / 3, 4, 0, 4 / 3])


def test_chi_square_against_both_halves_of_the_table():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (200, 6)), rng.integers(0, 2, 200)
    ours = chi_square([np.flatnonzero(x) for x in X], y, 6)
    np.testing.assert_allclose(ours, chi2(X, y)[0] + chi2(1 - X, y)[0])


def test_a_corpus_in_the_data_folder_becomes_the_stream(data, tmp_path):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 1000)
    X = (rng.random((1000, 5)) < 0.2 + 0.5 * np.outer(y, [1, 0, 0.5, 0, 1])).astype(int)
    names = np.array(["legitimate", "spam"])[y]
    lines = [",".join([*map(str, x), n]) + "\n" for x, n in zip(X, names, strict=True)]
    (tmp_path / "spam_corpus.arff").write_text(HEAD + "".join(lines))
    settings = dataset("spam", order="chronological")
    settings["sources"][1] |= {"words": 3, "expect": {"features": 3}}
    table = load(settings, {**data, "root": str(tmp_path)})
    assert np.array_equal(table.y, y) and table.classes == ("0", "1")
    assert sorted(map(tuple, table.X.T.tolist())) == sorted(map(tuple, X[:, [0, 2, 4]].T.tolist()))
    assert table.standing == "unknown"  # not the SHA-256 of the stream we know
    assert "3 best words" in table.source


@pytest.mark.parametrize(
    "text, message",
    [
        (HEAD + "1,0,0,spam\n", "line 9: expected 6 values"),
        (HEAD + "1,0,0,0,0,perhaps\n", "line 9: expected 6 values.*spam, legitimate"),
        (HEAD + "{9 1}\n", "line 9: expected 6 values"),
        (HEAD, "no rows after @data"),
        (HEAD.replace("spam", "yes"), "expected the last attribute to be the class"),
        ("1,2,3\n", "expected an ARFF file"),
    ],
)
def test_a_bad_corpus(text, message, tmp_path):
    path = tmp_path / "corpus.arff"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        select(path, 2)


def test_a_truncated_corpus(tmp_path):
    path = tmp_path / "corpus.arff.gz"
    path.write_bytes(gzip.compress((HEAD + "1,0,0,0,0,spam\n" * 99).encode())[:-12])
    with pytest.raises(UserError, match="truncated"):
        select(path, 2)
