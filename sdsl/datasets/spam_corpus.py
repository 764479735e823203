"""Makes the Spam stream from the public SpamAssassin corpus: its 499 best words by chi-square.

The corpus ("Spam Assassin Corpus" on http://mlkd.csd.auth.gr/concept_drift.html) is an ARFF file of
9,324 e-mails in order of time with 39,916 words, each present or absent. Measured on the stream in
use: its columns stand in falling order of Pearson's chi-square of the 2 x 2 table word x class.
"""

import gzip
import re
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sdsl.errors import UserError


def select(path: Path, words: int) -> bytes:
    """The stream as CSV text without a header: the chosen words, then 1 for spam and 0 for ham."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as file:
            width, labels, line = _header(path, file)
            rows, y = _rows(path, file, width, labels, line)
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(f"{path}: truncated or damaged gzip ({error}); get it again.") from None
    if width - 1 < words:
        raise UserError(f"{path}: expected at least {words} words, found {width - 1}.")
    best = np.argsort(-chi_square(rows, y, width - 1), kind="stable")[:words]
    place = np.full(width - 1, -1)
    place[best] = np.arange(words)
    lines = []
    for present, label in zip(rows, y, strict=True):
        row = np.zeros(words + 1, dtype=int)
        kept = place[present]
        row[kept[kept >= 0]] = 1
        row[-1] = label
        lines.append(",".join(map(str, row.tolist())))
    return ("\n".join(lines) + "\n").encode()


def chi_square(rows: list[np.ndarray], y: np.ndarray, words: int) -> np.ndarray:
    """Pearson's statistic of each word's presence against the class; 0 where a margin is empty."""
    spam = np.zeros(words)
    seen = np.zeros(words)
    for present, label in zip(rows, y, strict=True):
        seen[present] += 1
        spam[present] += label
    n, n_spam = len(y), int(y.sum())
    ham = seen - spam
    cross = spam * (n - n_spam - ham) - ham * (n_spam - spam)
    margins = seen * (n - seen) * n_spam * (n - n_spam)
    return np.divide(n * cross**2, margins, out=np.zeros(words), where=margins > 0)


def _header(path: Path, file: BinaryIO) -> tuple[int, list[str], int]:
    """Number of attributes, the class's values (the last attribute), and the line of @data."""
    width, last = 0, ""
    for number, raw in enumerate(file, start=1):
        line = raw.decode(errors="replace").strip()
        if line.lower().startswith("@attribute"):
            width, last = width + 1, line
        elif line.lower().startswith("@data"):
            values = re.search(r"\{(.*)\}\s*$", last)
            labels = [v.strip(" '\"") for v in values[1].split(",")] if values else []
            if "spam" not in labels or len(labels) != 2:
                raise UserError(
                    f"{path}, line {number}: expected the last attribute to be the class "
                    f"{{spam, legitimate}}, found {last!r}."
                )
            return width, labels, number
    raise UserError(f"{path}: expected an ARFF file with @attribute and @data lines.")


def _rows(
    path: Path, file: BinaryIO, width: int, labels: list[str], line: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """For each e-mail the numbers of its words, and whether it is spam."""
    rows, y = [], []
    for number, raw in enumerate(file, start=line + 1):
        text = raw.decode(errors="replace").strip()
        if not text or text.startswith("%"):
            continue
        sparse = text.startswith("{")
        present, label = _sparse(text, width, labels) if sparse else _dense(text, width)
        if label not in labels or (len(present) and present[-1] >= width - 1):
            raise UserError(
                f"{path}, line {number}: expected {width} values, the last one of "
                f"{', '.join(labels)}."
            )
        rows.append(present)
        y.append(label == "spam")
    if not rows:
        raise UserError(f"{path}: no rows after @data.")
    return rows, np.array(y, dtype=int)


def _dense(text: str, width: int) -> tuple[np.ndarray, str]:
    fields = text.split(",")
    if len(fields) != width:
        return np.array([], dtype=int), ""
    return np.flatnonzero([f.strip() != "0" for f in fields[:-1]]), fields[-1].strip(" '\"")


def _sparse(text: str, width: int, labels: list[str]) -> tuple[np.ndarray, str]:
    """A sparse ARFF row names what is not 0; a class left out is its first value."""
    pairs = [p.split() for p in text.strip("{} ").split(",") if p.strip()]
    if any(len(p) != 2 or not p[0].isdigit() for p in pairs):
        return np.array([], dtype=int), ""
    values: dict[int, str] = {int(i): v.strip("'\"") for i, v in pairs}
    label = values.pop(width - 1, labels[0])
    return np.array(sorted(i for i, v in values.items() if v != "0"), dtype=int), label
