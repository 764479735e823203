"""Makes the Spam stream from the public SpamAssassin corpus: its 499 best words by chi-square.

The corpus is a zip of two files with one line per e-mail, in order of time. A line of `spam.data`
has 39,916 digits with blanks between them, 1 where the e-mail has the word; a line of `spam.labels`
is 1 for spam. The columns of the stream stand in falling order of Pearson's chi-square of the 2 x 2
table word x class, and among equal words the later column comes first. This gives the stream to the
byte: the result has the SHA-256 that conf/dataset/spam.yaml states.
"""

import io
import zipfile
from typing import IO

import numpy as np

from sdsl.datasets import files
from sdsl.datasets.files import Content
from sdsl.errors import UserError


def select(corpus: Content, words: int) -> bytes:
    """The stream as CSV text without a header: the chosen words, then 1 for spam and 0 for ham."""
    path = corpus.path
    try:
        with zipfile.ZipFile(io.BytesIO(corpus.data)) as archive:
            with archive.open(files.only_member(archive, path, ("spam.labels",))) as file:
                y = np.array(files.limited(file, path).split()) == b"1"  # [N]
            with archive.open(files.only_member(archive, path, ("spam.data",))) as file:
                packed, width = _packed(file, len(y))
    except UserError:
        raise
    except Exception as error:  # what zipfile and zlib say of damaged bytes, and `_packed`
        raise UserError(
            f"{path}: not the SpamAssassin corpus ({files.one_line(error)}); get it again."
        ) from None
    rows = lambda which: (np.unpackbits(bits, count=width) for bits in which)
    seen, spam = (sum(rows(which), np.zeros(width)) for which in (packed, packed[y]))
    score = chi_square(seen, spam, len(y), int(y.sum()))
    best = np.argsort(score, kind="stable")[::-1][:words]  # reversed: later columns first on ties
    lines = (f"{','.join(map(str, row[best]))},{label:d}\n" for row, label in zip(rows(packed), y))
    return "".join(lines).encode()


def chi_square(seen: np.ndarray, spam: np.ndarray, rows: int, spam_rows: int) -> np.ndarray:
    """Pearson's statistic of every word's presence against the class; 0 where a margin is empty.

    `seen` [words] counts the e-mails with the word, `spam` [words] the spam among those.
    """
    ham, ham_rows = seen - spam, rows - spam_rows
    cross = spam * (ham_rows - ham) - ham * (spam_rows - spam)
    margins = seen * (rows - seen) * spam_rows * ham_rows
    return np.divide(rows * cross**2, margins, out=np.zeros(len(seen)), where=margins > 0)


def _packed(member: IO[bytes], rows: int) -> tuple[np.ndarray, int]:
    """Which e-mail has which word, [rows, ceil(width / 8)] uint8 with a bit a word; and the width.

    Line by line: the text has 744 MB and is never in memory as a whole.
    """
    packed: list[np.ndarray] = []
    width = 0
    file = io.BufferedReader(member, 2**20)  # zipfile's own readline takes twice as long
    while line := file.readline(2**20).rstrip():
        characters = np.frombuffer(line, dtype=np.uint8)
        digits, blanks = characters[::2] - ord("0"), characters[1::2]
        width = width or len(digits)
        if len(digits) != width or digits.max() > 1 or (blanks != ord(" ")).any():
            raise ValueError(f"line {len(packed) + 1}: expected {width} digits 0 or 1, and blanks")
        packed.append(np.packbits(digits))
    if len(packed) != rows or not rows:
        raise ValueError(f"{len(packed)} lines of words, {rows} labels")
    return np.stack(packed), width
