"""Keyframe tables: the path, the draw, the fit that recovers a known path."""

import json

import numpy as np

from sdsl.datasets import keyframes
from sdsl.datasets.fit_keyframes import by_segment, fit, write
from sdsl.datasets.keyframes import Keyframes, Mode
from sdsl.datasets.parse import Parsed


def test_basis_by_hand():
    # Two pieces over five segments at times 0, 1, 2, 3, 4.
    weights = keyframes.basis([0, 2, 4], late=0, segments=5)
    assert weights.tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1]]


def test_a_late_start_is_one_step_in_and_a_jump_starts_the_next_piece():
    weights = keyframes.basis([0, 2, 2, 4], late=1, segments=4)  # times 1, 2, 3, 4
    assert weights.tolist() == [[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0.5, 0.5], [0, 0, 0, 1]]


def test_a_draw_has_equal_classes_in_every_segment_and_mixes_them():
    _, y = keyframes.draw(keyframes.load("ug_2c_2d"))
    counts = y.reshape(100, 1000).sum(axis=1)
    assert set(counts.tolist()) == {500}
    changes = (np.diff(y) != 0).mean()
    assert 0.49 < changes < 0.51  # as in the original, .498: labels in random order


def test_a_draw_does_not_depend_on_anybodys_seed():
    table = keyframes.load("mg_2c_2d")
    np.random.seed(1)
    first = keyframes.draw(table)[0]
    np.random.seed(2)
    assert np.array_equal(first, keyframes.draw(table)[0])


def test_the_fit_recovers_a_path_with_a_jump_and_a_late_start(tmp_path):
    means = [[2, 3], [6, 3], [8, 5], [3, 5], [7, 5], [3, 7], [3, 3]]
    var = [[1, 1], [2, 1], [2, 2], [2, 2], [1, 1], [1.5, 1.5], [1, 1]]
    table = Keyframes(
        segment_size=600,
        segments=100,
        late=1,
        times=[0, 20, 40, 40, 60, 80, 100],
        classes={"a": [Mode(means, var)], "b": [Mode([[5, 5]] * 7, [[1, 1]] * 7)]},
    )
    X, y = keyframes.draw(table, seed=5)
    found = fit("made up", by_segment(Parsed(X, y, ("a", "b")), 600), 600)
    assert found.times == table.times and found.late == 1
    np.testing.assert_allclose(found.classes["a"][0].mean, means, atol=0.15)
    np.testing.assert_allclose(found.classes["a"][0].var, var, atol=0.3)
    write(found, {"fitted_to_sha256": "0" * 64}, tmp_path / "made_up.json")
    assert (tmp_path / "made_up.json").read_text().startswith("{\n")
    assert json.loads((tmp_path / "made_up.json").read_text())["times"] == table.times
