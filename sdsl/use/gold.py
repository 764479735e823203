"""The labelled rows that a deployment begins with, and labels as a file spells them."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sdsl.datasets.frames import Frame, read
from sdsl.datasets.inputs import find
from sdsl.datasets.labels import given, is_number
from sdsl.errors import UserError


@dataclass(frozen=True)
class Gold:
    """Rows with their labels, and how many of each file they are."""

    rows: pd.DataFrame
    labels: np.ndarray  # [g] text
    taken: dict[str, int]  # resolved path -> rows at its beginning
    whole: set[str]  # resolved paths of files that hold nothing else

    def sha256(self) -> str:
        text = self.rows.to_csv(index=False) + "\n".join(self.labels)
        return hashlib.sha256(text.encode()).hexdigest()


def gold(patterns: list[str], label: str) -> Gold:
    """The rows of the gold files, each up to its first row without a label."""
    frames = [read(found.path, label) for found in find(patterns)]
    if not frames:
        raise UserError(f"gold={', '.join(patterns)}: there is no such file.")
    parts, labels = [], []
    taken: dict[str, int] = {}
    whole: set[str] = set()
    for frame in frames:
        if label not in frame.columns:
            there = ", ".join(frame.columns.columns[:20])
            raise UserError(f"{frame.path}: there is no column '{label}'; it has {there}.")
        own = given_labels(frame, label)
        missing = [i for i, name in enumerate(own) if name is None]
        count = missing[0] if missing else len(own)
        if not count:
            raise UserError(f"{frame.path}: the first row has no label; gold begins with labels.")
        parts.append(frame.columns.iloc[:count])
        labels += own[:count]
        taken[str(frame.path.resolve())] = count
        whole |= {str(frame.path.resolve())} if count == len(own) else set()
    names = [set(part.columns) for part in parts]
    if any(one != names[0] for one in names):
        raise UserError("The gold files have different columns; give files of one kind.")
    rows = pd.concat(parts, ignore_index=True)
    if len(set(labels)) < 2:
        raise UserError(f"gold has one class only ({labels[0]}); expected at least two.")
    return Gold(rows, np.array(labels, dtype=str), taken, whole)


def given_labels(frame: Frame, label: str) -> list[str | None]:
    """The labels that a file carries; None where there is none."""
    if label not in frame.columns:
        return [None] * len(frame)
    return [given(value) for value in frame.columns[label]]


def ordered(labels: np.ndarray) -> list[str]:
    """The classes: numbers by value, then names."""
    return sorted(
        set(labels.tolist()), key=lambda c: (not is_number(c), float(c) if is_number(c) else 0.0, c)
    )


def spelled(labels: list[str]) -> pd.Series:
    """A column of labels as a file keeps them: whole numbers as numbers."""
    whole = all(re.fullmatch(r"-?\d{1,18}", name) for name in labels)
    return pd.Series([int(n) for n in labels] if whole else labels, dtype=None if labels else str)


def same_file(path: Path, taken: dict[str, int]) -> int:
    """How many rows at the beginning of the file are gold."""
    return taken.get(str(path.resolve()), 0)
