"""All eight streams load offline, with the shapes of the paper's table and their provenance."""

import logging
import subprocess
import sys

import numpy as np
import pytest
from dataset_support import EIGHT, REPO, dataset

from sdsl.datasets import load
from sdsl.errors import UserError

OFFLINE = {  # rows, features, classes, T, standing
    "mg_2c_2d": (200_000, 2, 2, 99, "regenerated"),
    "optdigits": (5_620, 64, 10, 27, "original"),
    "satimage": (6_435, 36, 6, 31, "original"),
    "spam": (4_597, 57, 2, 10, "stand-in"),
    "twonorm": (7_400, 20, 2, 36, "original"),
    "ug_2c_2d": (100_000, 2, 2, 99, "regenerated"),
    "ug_2c_3d": (200_000, 3, 2, 99, "stand-in"),
    "ug_2c_5d": (200_000, 5, 2, 99, "regenerated"),
}


def test_the_group_is_exactly_the_eight():
    assert sorted(p.stem for p in (REPO / "conf" / "dataset").glob("*.yaml")) == sorted(EIGHT)


@pytest.mark.parametrize("name", EIGHT)
def test_offline(name, data):
    settings = dataset(name)
    table = load(settings, data)
    rows, features, classes, T, standing = OFFLINE[name]
    assert table.X.shape == (rows, features)
    assert table.X.dtype == np.float32 and table.y.dtype == np.int64
    assert len(table.classes) == classes and set(np.unique(table.y)) == set(range(classes))
    assert rows // settings["segment_size"] - 1 == T
    assert table.standing == standing and len(table.sha256) == 64 and table.source


@pytest.mark.parametrize("name", ["ug_2c_2d", "optdigits", "spam"])
def test_loading_twice_gives_the_same_bits(name, data):
    first, second = load(dataset(name), data), load(dataset(name), data)
    assert np.array_equal(first.X, second.X) and np.array_equal(first.y, second.y)
    assert first.sha256 == second.sha256


def test_satimage_has_its_six_real_classes(data):
    assert load(dataset("satimage"), data).classes == ("1", "2", "3", "4", "5", "7")


def test_what_was_used_is_logged(data, caplog):
    with caplog.at_level(logging.INFO, logger="sdsl"):
        table = load(dataset("twonorm"), data)
    assert table.source in caplog.text and "original" in caplog.text
    assert table.sha256 in caplog.text


def test_a_file_of_the_users_comes_first_and_an_unknown_one_says_so(data, tmp_path):
    data.root = str(tmp_path)
    rows = "".join(f"{i % 7}.5,{i % 5},{1 + i % 2}\n" for i in range(3000))
    (tmp_path / "ug_2c_2d.CSV").write_text(rows)
    table = load({**dataset("ug_2c_2d"), "expect": {}}, data)
    assert (len(table.y), table.standing) == (3000, "unknown")
    assert table.source == "file ug_2c_2d.CSV"


def test_a_root_without_the_file_falls_through(data, tmp_path):
    data.root = str(tmp_path)
    assert load(dataset("ug_2c_2d"), data).standing == "regenerated"


def test_the_stand_in_for_spam_has_no_time_order(data):
    with pytest.raises(UserError, match=r"not in order of time.*data\.root"):
        load(dataset("spam", order="chronological"), data)


def test_development_streams(data):
    sizes = {"classes": 4, "features": 5, "modes": 2, "segments": 20}
    path = load(dataset("dev/path", path_seed=3, **sizes), data)
    assert path.X.shape == (20_000, 5) and len(path.classes) == 4
    assert path.name == "dev_path_3"
    other = load(
        dataset("dev/path", path_seed=4, classes=4, features=5, modes=2, segments=20), data
    )
    assert path.sha256 != other.sha256
    keel = load(dataset("dev/keel", keel="segment"), data)
    assert keel.X.shape == (2310, 19) and len(keel.classes) == 7


def test_an_exchange_ends_where_the_other_class_began(data):
    sizes = {"segments": 20, "segment_size": 200, "test_size": 60, "features": 3, "path_seed": 1}
    found = load(dataset("dev/path", exchange=True, **sizes), data)
    first, last = slice(0, 200), slice(-200, None)

    def mean(rows: slice, c: int):
        return found.X[rows][found.y[rows] == c].mean(0)

    for c in (0, 1):
        assert np.linalg.norm(mean(last, c) - mean(first, 1 - c)) < 1
        assert np.linalg.norm(mean(last, c) - mean(first, c)) > 4
    with pytest.raises(UserError, match="two change places"):
        load(dataset("dev/path", exchange=True, **sizes | {"modes": 2}), data)


@pytest.mark.parametrize("name", ["optdigits", "satimage", "twonorm", "spambase"])
def test_settings_are_never_chosen_on_the_eight(name, data):
    with pytest.raises(UserError, match="one of the eight"):
        load(dataset("dev/keel", keel=name), data)


def test_development_limits(data):
    with pytest.raises(UserError, match=r"dataset\.classes=9 is out of range: expected 2 to 6"):
        load(dataset("dev/path", classes=9), data)
    with pytest.raises(UserError, match=r"no dataset 'nope'; it has: .*penbased"):
        load(dataset("dev/keel", keel="nope"), data)


def test_loading_needs_no_heavy_import():
    code = "import sys, sdsl.datasets; print({'torch', 'hydra', 'mlflow'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
