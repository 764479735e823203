"""Makes the Spam stream from the public SpamAssassin corpus: its 499 best words by chi-square.

The corpus is a zip of two files with one line per e-mail, in order of time. A line of `spam.data`
has 39,916 digits with blanks between them, 1 where the e-mail has the word; a line of `spam.labels`
is 1 for spam. The columns of the stream stand in falling order of Pearson's chi-square of the 2 x 2
table word x class, and among equal words the later column comes first. This gives the stream to the
byte: the result has the SHA-256 that conf/dataset/spam.yaml states.
"""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from sdsl.datasets import limits
from sdsl.datasets.messages import one_line
from sdsl.datasets.unpack import open_regular, open_zip, read_member
from sdsl.errors import UserError

WIDEST = 2**20  # bytes of a line; the corpus has 79,832


@dataclass(frozen=True)
class Words:
    """Which e-mail has which word, eight words per byte: a sixteenth of the text."""

    packed: np.ndarray  # [N, ceil(width / 8)] uint8
    width: int


def select(path: Path, words: int) -> bytes:
    """The stream as CSV text without a header: the chosen words, then 1 for spam and 0 for ham."""
    with open_regular(path) as file, open_zip(file, path) as archive:
        y = _labels(archive, path)
        corpus = _words(archive, path, len(y))
    if corpus.width < words:
        raise UserError(f"{path}: expected at least {words} words, found {corpus.width}.")
    score = chi_square(*_counts(corpus, y), len(y), int(y.sum()))
    best = np.argsort(score, kind="stable")[::-1][:words]  # reversed: later columns first on ties
    lines = []
    for bits, label in zip(corpus.packed, y, strict=True):
        row = np.unpackbits(bits, count=corpus.width)[best]
        lines.append(",".join(map(str, (*row.tolist(), label))))
    return ("\n".join(lines) + "\n").encode()


def chi_square(seen: np.ndarray, spam: np.ndarray, rows: int, spam_rows: int) -> np.ndarray:
    """Pearson's statistic of every word's presence against the class; 0 where a margin is empty.

    `seen` [words] counts the e-mails with the word, `spam` [words] the spam among those.
    """
    seen, spam = seen.astype(float), spam.astype(float)
    ham, ham_rows = seen - spam, rows - spam_rows
    cross = spam * (ham_rows - ham) - ham * (spam_rows - spam)
    margins = seen * (rows - seen) * spam_rows * ham_rows
    return np.divide(rows * cross**2, margins, out=np.zeros(len(seen)), where=margins > 0)


def _counts(corpus: Words, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every word, the e-mails and the spam e-mails that have it."""
    seen, spam = np.zeros((2, corpus.width), dtype=np.int64)
    for bits, label in zip(corpus.packed, y, strict=True):
        row = np.unpackbits(bits, count=corpus.width)
        seen += row
        if label:
            spam += row
    return seen, spam


def _labels(archive: zipfile.ZipFile, path: Path) -> np.ndarray:
    """[N] of 0 and 1."""
    lines = read_member(archive, _member(archive, path, "spam.labels"), path).split()
    if not lines or set(lines) - {b"0", b"1"}:
        raise UserError(f"{path}, spam.labels: expected lines of 0 (ham) or 1 (spam).")
    return np.array([line == b"1" for line in lines], dtype=np.int64)


def _words(archive: zipfile.ZipFile, path: Path, rows: int) -> Words:
    packed: list[np.ndarray] = []
    width = 0
    for number, line in enumerate(_lines(archive, path), start=1):
        characters = np.frombuffer(line, dtype=np.uint8)
        digits, blanks = characters[::2] - ord("0"), characters[1::2]
        width = width or len(digits)
        if (
            number > rows
            or not 0 < len(digits) == width
            or digits.max() > 1
            or (blanks != ord(" ")).any()
        ):
            raise UserError(
                f"{path}, spam.data, line {number}: expected {rows} lines, one per label, each of "
                f"{width} digits 0 or 1 with a blank between them."
            )
        packed.append(np.packbits(digits))
        if len(packed) * packed[0].nbytes > limits.MOST_BYTES:
            raise limits.too_large(path)
    if len(packed) != rows:
        raise UserError(f"{path}, spam.data: expected {rows} lines, found {len(packed)}.")
    return Words(np.stack(packed), width)


def _lines(archive: zipfile.ZipFile, path: Path) -> Iterator[bytes]:
    """Line by line from the zip: the text has 744 MB and is never in memory as a whole."""
    try:
        with archive.open(_member(archive, path, "spam.data")) as member:
            # zipfile's own readline takes twice as long.
            file = io.BufferedReader(cast(io.RawIOBase, member), limits.CHUNK)
            while line := file.readline(WIDEST):
                yield line.rstrip()
    except UserError:
        raise
    except Exception as error:  # what zipfile and zlib say of damaged bytes
        raise UserError(
            f"{path}: cannot unpack spam.data ({one_line(error)}); get it again."
        ) from None


def _member(archive: zipfile.ZipFile, path: Path, name: str) -> str:
    found = [member for member in archive.namelist() if member.rpartition("/")[2] == name]
    if len(found) != 1:
        raise UserError(
            f"{path}: expected the SpamAssassin corpus, a zip with one {name}, found {len(found)}."
        )
    return found[0]
