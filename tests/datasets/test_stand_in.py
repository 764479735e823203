"""The stand-in for UG_2C_3D: SCARGC finds it as hard, twentieth by twentieth, as the original."""

import numpy as np

from sdsl.api import composed, run, setup
from sdsl.datasets import keyframes
from sdsl.datasets.fit_stand_in import PUBLISHED, accuracy, fit


def committed() -> tuple[np.ndarray, np.ndarray]:
    """Means and variances [2, keyframes, d]."""
    classes = keyframes.load("ug_2c_3d").classes
    modes = [classes[label][0] for label in "12"]
    return np.array([m.mean for m in modes]), np.array([m.var for m in modes])


def test_scargc_has_the_published_curve_within_two_points():
    words = ("method=scargc", "dataset=ug_2c_3d", "data.root=null", "eval.every=1000")
    R = run(setup(composed(*words)), seeds=[10, 11]).outcome.R  # [2, T + 1, T]
    online = np.stack([np.diagonal(one[1:]) for one in R])  # [2, 99]: segments 1 to 99
    first, rest = online[:, :4].mean(axis=1), online[:, 4:].reshape(2, 19, 5).mean(axis=2)
    curve = 100 * np.column_stack([first, rest])  # [2, 20]
    assert np.abs(curve - PUBLISHED).max() < 2


def test_the_rule_of_the_nearest_mean_scores_as_the_formula_says():
    mean, var = committed()
    X, y = keyframes.draw(keyframes.load("ug_2c_3d"))
    X, y = X.reshape(100, 2000, 3), y.reshape(100, 2000)
    blend = keyframes.basis(keyframes.load("ug_2c_3d").times, 0, 100)
    m = np.einsum("sk,ckd->scd", blend, mean)  # [segments, 2, d]
    distance = ((X[:, :, None] - m[:, None]) ** 2).sum(axis=-1)
    right = (distance.argmin(axis=-1) == y).mean(axis=1)  # [segments]
    drawn = 100 * np.append(right[1:5].mean(), right[5:].reshape(19, 5).mean(axis=1))
    assert np.abs(drawn - accuracy(mean, var)).max() < 1.2  # 4 standard errors of 10,000 rows


def test_the_committed_table_is_what_the_fit_gives():
    for committed_part, fitted in zip(committed(), fit(), strict=True):
        np.testing.assert_allclose(committed_part, fitted, atol=0.2)  # another machine's optimum


def test_the_classes_change_places():
    mean, _ = committed()
    (one, two), (later_one, later_two) = mean[:, 0], mean[:, 3]  # at 0 and at 60 %
    assert np.linalg.norm(later_one - two) < np.linalg.norm(later_one - one)
    assert np.linalg.norm(later_two - one) < np.linalg.norm(later_two - two)
