"""The regenerated streams against the original files, segment by segment; skipped without them."""

from dataclasses import replace

import numpy as np
import pytest
from dataset_support import dataset
from scipy.stats import ks_2samp
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from sdsl.config.schema import DataConfig
from sdsl.datasets import load

STREAMS = ("ug_2c_2d", "mg_2c_2d", "ug_2c_5d")


@pytest.fixture(scope="module", params=STREAMS)
def pair(request, originals, tmp_path_factory):
    """By segment: X [segments, size, d] and y [segments, size] of the file and of the redraw."""
    settings = dataset(request.param)
    cache = str(tmp_path_factory.mktemp("cache"))
    roots = (str(originals), None)
    tables = [load(settings, DataConfig(root=r, download=False, cache=cache)) for r in roots]
    assert [t.standing for t in tables][1] == "regenerated"
    assert tables[0].standing in ("original", "reconstruction")
    size = settings["segment_size"]
    return [(t.X.reshape(-1, size, t.X.shape[1]), t.y.reshape(-1, size)) for t in tables]


def by_class(X: np.ndarray, y: np.ndarray, c: int) -> np.ndarray:
    return np.stack([x[labels == c] for x, labels in zip(X, y, strict=True)]).astype(float)


def test_class_counts_are_equal_in_every_segment(pair):
    (_, real), (_, drawn) = pair
    assert np.array_equal(real.sum(axis=1), drawn.sum(axis=1))


@pytest.mark.parametrize("c", [0, 1])
def test_means_and_variances_agree_up_to_sampling_error(pair, c):
    real, drawn = (by_class(X, y, c) for X, y in pair)
    n = real.shape[1]
    error = np.sqrt((real.var(axis=1) + drawn.var(axis=1)) / n)
    z = (real.mean(axis=1) - drawn.mean(axis=1)) / error
    # Under equal distributions z is standard normal, or narrower where two modes are balanced.
    assert np.sqrt((z**2).mean()) < 1.15 and np.abs(z).max() < 4.5
    ratio = np.log(real.var(axis=1) / drawn.var(axis=1)) / np.sqrt(4 / n)
    assert np.sqrt((ratio**2).mean()) < 1.15 and np.abs(ratio).max() < 4.5


def test_two_sample_tests_reject_no_more_often_than_chance(pair):
    p = [
        ks_2samp(a[:, j], b[:, j], method="asymp").pvalue
        for c in (0, 1)
        for a, b in zip(*(by_class(X, y, c) for X, y in pair), strict=True)
        for j in range(a.shape[1])
    ]
    p = np.array(p)
    for level in (0.05, 0.01):
        noise = np.sqrt(level * (1 - level) / len(p))
        assert (p < level).mean() <= level + 3 * noise


def test_a_frozen_model_meets_the_same_drift(pair):
    (X, y), _ = pair
    frozen = QuadraticDiscriminantAnalysis().fit(X[0], y[0])
    curves = [
        np.array([(frozen.predict(x) == t).mean() for x, t in zip(X, y, strict=True)])
        for X, y in pair
    ]
    # A segment's own accuracy has a standard error of up to .016; tens of segments have not.
    real, drawn = (curve.reshape(10, 10).mean(axis=1) for curve in curves)
    assert np.abs(real - drawn).max() < 0.02
    assert abs(curves[0].mean() - curves[1].mean()) < 0.005


def test_known_files_are_recognised(originals, data):
    data.root = str(originals)
    standings = {"spam": "original", "satimage": "original", "ug_2c_5d": "reconstruction"}
    for name, standing in standings.items():
        assert load(dataset(name), data).standing == standing


def test_spam_columns_fall_in_pearsons_chi_square(originals, data):
    from sdsl.datasets.spam_corpus import chi_square

    data.root = str(originals)
    table = load(dataset("spam", order="chronological"), data)
    seen, spam = table.X.sum(axis=0), table.X[table.y == 1].sum(axis=0)
    assert (np.diff(chi_square(seen, spam, len(table.y), int(table.y.sum()))) <= 0).all()


def test_two_copies_of_satimage_hold_the_same_rows(originals, data):
    keel = load(dataset("satimage"), data)
    uci = load(dataset("satimage"), replace(data, root=str(originals)))
    assert keel.sha256 != uci.sha256

    def rows(table):
        return sorted(map(tuple, np.column_stack([table.X, table.y]).tolist()))

    assert rows(keel) == rows(uci)
