"""PL-Conf: the most confident rows, globally or per class; fused and alone."""

import numpy as np
import pytest
import torch
from support import blobs, component, run

from sdsl.core.contract import Step
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows


class Fixed(Learner):
    """Class x_0 > 0, as sure as |x_0|."""

    def __init__(self):
        super().__init__((1, 2), [0])

    def probabilities(self, x):
        right = (x[:, :, 0] > 0).long()[:, :, None]
        return torch.zeros(*x.shape[:2], 2).scatter(2, right, x.abs())


def choose(X, **settings):
    X = torch.tensor(X)[None, :, None]
    step = Step(1, Rows.empty_like(X), Rows.empty_like(X), X, [], Draws([0], "batches"))
    return component("labeler", "confidence", fit={"steps": 0}, **settings).label(step, Fixed())


SURE = [0.9, -0.6, 0.8, 0.95, -0.7, 0.55]


def test_the_surest_rows_over_all_classes():
    pseudo = choose(SURE, size=3)
    X, y = pseudo.rows.replica(0)
    assert X.squeeze(1).tolist() == pytest.approx([0.95, 0.9, 0.8])
    assert y.tolist() == [1, 1, 1]  # the literal reading: they can be of one class
    assert pseudo.y.tolist() == [[1, 0, 1, 1, 0, 1]]
    assert pseudo.log["least_confidence"].item() == pytest.approx(0.8)


def test_balanced_takes_a_share_of_each_class():
    X, y = choose(SURE, size=4, balanced=True).rows.replica(0)
    assert X.squeeze(1).tolist() == pytest.approx([0.95, 0.9, -0.7, -0.6])
    assert y.tolist() == [1, 1, 0, 0]


def test_balanced_with_a_class_that_is_short_leaves_its_places_empty():
    pseudo = choose([0.9, 0.8, 0.7, -0.6], size=4, balanced=True)
    assert pseudo.rows.count.tolist() == [3]
    assert pseudo.rows.X.shape[1] == 4  # the width never depends on the labels


def test_more_asked_for_than_there_are():
    assert choose(SURE, size=100).rows.count.tolist() == [6]


@pytest.mark.parametrize("balanced", ["true", "false"])
def test_fusing_changes_no_bit(balanced):
    how = ("method=pl_conf", f"labeler.balanced={balanced}", "stream.max_segments=3")
    how += ("replay.fit.steps=30", "learner.pretrain.steps=30")
    data = blobs(classes=3, drift=1.0, spread=1.5)
    fused = run(*how, data=data, seeds=(0, 1, 2)).outcome
    alone = run(*how, data=data, seeds=(1,)).outcome
    assert np.array_equal(fused.R[1], alone.R[0], equal_nan=True)
    for name, curve in alone.curves.items():
        assert np.array_equal(fused.curves[name][1], curve[0], equal_nan=True), name


def test_it_learns_a_stream_that_stands_still():
    outcome = run("method=pl_conf", "stream.max_segments=2", data=blobs(spread=1.0)).outcome
    assert outcome.curves["test_acc"].mean() > 0.95
